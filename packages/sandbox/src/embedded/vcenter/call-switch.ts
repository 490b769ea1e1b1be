import { once } from 'node:events';
import {
  asRefusal,
  checkMethod,
  faultAnswer,
  type Interceptor,
  notAuthenticated,
  type Refusal,
  resetConnection,
  soapAnswer,
  type TransferInterceptor,
  type VCenterServer,
  type WireAnswer,
  type WireCall,
} from '@drydock/vsphere/testing/server';
import type { Fault } from '../../switchboard-types.ts';
import { type CallEntry, CallLog, endEntry, type UploadEntry, UploadLog } from './call-log.ts';
import { type CallRule, RuleTable, refusalOf } from './call-rules.ts';

const DOWN = '<html><body><h1>503 Service Unavailable</h1>The server is starting.</body></html>';

/** An upload that a rule cut off. */
class DroppedUpload extends Error {}

/** Stands in front of the server: delays, fails, drops and holds calls, and counts them. */
export class CallSwitch {
  readonly rules: RuleTable = new RuleTable();
  readonly calls: CallLog = new CallLog();
  readonly uploads: UploadLog = new UploadLog();
  /** What logins are refused with while they are. */
  loginFault: Fault | undefined;
  server: VCenterServer | undefined;
  #downUntil = 0;
  /** The session whose call is being done; the server acts on one call at a time. */
  acting: string | undefined;

  /** Answers everything with 503 for a while, as a vCenter that starts. */
  goDown(ms: number): void {
    this.#downUntil = Date.now() + ms;
  }

  readonly intercept: Interceptor = async (call, act) => {
    if (Date.now() < this.#downUntil) {
      return { status: 503, headers: { 'content-type': 'text/html' }, bytes: Buffer.from(DOWN) };
    }
    const entry = this.calls.begin(call.method, call.session?.id);
    const rule = this.rules.take(call.method, call.text);
    if (rule !== undefined) entry.rule = rule.id;
    const run = (): Promise<WireAnswer> => this.#act(call, act);
    const answer = await (rule === undefined ? run() : this.#apply(call, rule, entry, run));
    endEntry(entry, answer?.status ?? 0);
    return answer;
  };

  #act({ method, session }: WireCall, act: () => Promise<WireAnswer>): Promise<WireAnswer> {
    const { loginFault } = this;
    if (method === 'Login' && loginFault !== undefined) return Promise.resolve(faultAnswer(refusalOf(loginFault)));
    this.acting = session?.id;
    try {
      // What it does to the inventory it does before it first waits.
      return act();
    } finally {
      this.acting = undefined;
    }
  }

  async #apply(
    call: WireCall,
    rule: CallRule,
    entry: CallEntry,
    act: () => Promise<WireAnswer>,
  ): Promise<WireAnswer | undefined> {
    const { spec } = rule;
    switch (spec.do) {
      case 'drop-before':
        resetConnection(call.request);
        return undefined;
      case 'drop-after':
        await act();
        endEntry(entry, 0);
        resetConnection(call.request);
        return undefined;
      case 'status':
        return { status: spec.status ?? 500, headers: {}, bytes: Buffer.from(spec.body ?? '') };
      case 'fault':
        if (spec.acted === true) await act();
        return faultAnswer(refusalOf(spec.fault ?? { name: 'SystemError' }));
      case 'task':
        return call.method.endsWith('_Task') ? this.#busyTask(call, rule, act) : act();
      case 'delay':
      case 'hold':
        return this.#late(call, rule, act);
      default:
        // An upload's action on a call that is none.
        return act();
    }
  }

  /** Delays or holds a call before the server acts, or its answer after. */
  async #late(call: WireCall, rule: CallRule, act: () => Promise<WireAnswer>): Promise<WireAnswer | undefined> {
    const { spec } = rule;
    const gone = new AbortController();
    call.response.once('close', () => gone.abort());
    const over = call.session?.over;
    const givenUp = over === undefined ? gone.signal : AbortSignal.any([gone.signal, over]);
    const done = spec.acted === true ? await act() : undefined;
    const isFree = spec.do === 'hold' ? await rule.hold(givenUp) : await rule.pause(spec.delayMs ?? 0, givenUp);
    if (isFree) return done ?? act();
    return over?.aborted === true ? faultAnswer(notAuthenticated()) : undefined;
  }

  /** Answers with a task that is busy for as long as the rule says, then ends as the work did or with the fault. */
  async #busyTask(call: WireCall, rule: CallRule, act: () => Promise<WireAnswer>): Promise<WireAnswer> {
    const { spec } = rule;
    const { session, body, method } = call;
    const state = this.server?.state;
    const self = selfOf(call);
    if (session === undefined || body === undefined || state === undefined || self === undefined) return act();
    try {
      checkMethod({ state, session, method, self, body });
    } catch (error) {
      return faultAnswer(asRefusal(error));
    }
    const { world } = state;
    const task = world.beginTask(method, self, session.user);
    const work = spec.work || (spec.fault === undefined ? 'last' : 'never');
    let done = work === 'first' ? await act() : undefined;
    const finish = async (): Promise<void> => {
      const never = new AbortController().signal;
      if (spec.hold === true) await rule.hold(never);
      else await rule.pause(spec.delayMs ?? 0, never);
      if (task.cancelled) return;
      if (work === 'last') done = await act();
      const error = spec.fault === undefined ? errorOf(done) : refusalOf(spec.fault);
      const result = done?.task?.result;
      world.endTask(task, { ...(error === undefined ? {} : { error }), ...(result === undefined ? {} : { result }) });
    };
    finish().catch((error: unknown) => world.endTask(task, { error: asRefusal(error) }));
    return soapAnswer(method, `<returnval type="Task">${task.ref.value}</returnval>`);
  }

  readonly interceptTransfer: TransferInterceptor = async (transfer, receive) => {
    const { method, text: path, request, response, session } = transfer;
    if (Date.now() < this.#downUntil) {
      answerUnread(transfer, 503, DOWN, { 'content-type': 'text/html' });
      return;
    }
    const entry = this.calls.begin(method, session?.id);
    const rule = this.rules.take(method, path);
    const upload = this.#beginUpload(request, path);
    if (rule !== undefined) {
      entry.rule = rule.id;
      upload.rule = rule.id;
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const drop = (): void => {
      upload.state = 'dropped';
      endEntry(entry, 0);
      resetConnection(request);
    };
    const action = rule?.spec.do;
    if (action === 'drop-before') return drop();
    if (rule !== undefined && (action === 'status' || action === 'fault')) {
      upload.state = 'failed';
      endEntry(entry, rule.spec.status ?? 500);
      answerUnread(transfer, rule.spec.status ?? 500, rule.spec.body ?? '');
      return;
    }
    if (rule !== undefined && action === 'delay') await rule.pause(rule.spec.delayMs ?? 0, gone.signal);
    let status = 0;
    try {
      status = await receive((body) => gated(body, upload, rule, gone.signal));
    } catch (error) {
      if (error instanceof DroppedUpload) return drop();
      upload.state = 'failed';
      endEntry(entry, 0);
      return;
    }
    if (rule !== undefined && action === 'hold' && rule.spec.acted === true) {
      upload.state = 'held';
      if (!(await rule.hold(gone.signal))) {
        upload.state = 'failed';
        endEntry(entry, 0);
        return;
      }
    }
    if (action === 'drop-after') return drop();
    upload.state = status !== 200 || upload.contentLength > upload.bytes ? 'failed' : 'done';
    endEntry(entry, status);
    response.writeHead(status).end();
    await once(response, 'close').catch(() => undefined);
  };

  #beginUpload({ headers, method = '' }: WireCall['request'], path: string): UploadEntry {
    const [lease = '', file = ''] = path.split('/').slice(-2).map(decodeURIComponent);
    return this.uploads.begin({ lease, file, method, contentLength: Number(headers['content-length'] ?? -1) });
  }
}

/** Answers a transfer without its body. */
function answerUnread({ request, response }: WireCall, status: number, body: string, headers = {}): void {
  response.writeHead(status, headers).end(body);
  // Read on: a connection that is closed under a body breaks before its sender has seen the answer.
  request.resume();
}

/** The body of an upload: counted, throttled, held after n bytes, and cut after n bytes. */
async function* gated(
  body: AsyncIterable<Buffer>,
  upload: UploadEntry,
  rule: CallRule | undefined,
  gone: AbortSignal,
): AsyncGenerator<Buffer> {
  const { do: action, afterBytes = 0, bytesPerSecond = 0, acted = false } = rule?.spec ?? {};
  let passed = rule === undefined || acted || (action !== 'hold' && action !== 'drop-upload');
  const stop = async (): Promise<void> => {
    if (passed || rule === undefined || upload.bytes < afterBytes) return;
    if (action === 'drop-upload') throw new DroppedUpload();
    passed = true;
    upload.state = 'held';
    if (!(await rule.hold(gone))) throw new Error('given up while held');
    upload.state = 'running';
  };
  await stop();
  for await (const chunk of body) {
    for (let rest = chunk; rest.length > 0; ) {
      const room = passed ? rest.length : Math.min(rest.length, afterBytes - upload.bytes);
      const size = bytesPerSecond > 0 ? Math.min(room, Math.max(Math.floor(bytesPerSecond / 20), 1)) : room;
      const part = rest.subarray(0, size);
      rest = rest.subarray(size);
      upload.bytes += part.length;
      yield part;
      if (rule !== undefined && bytesPerSecond > 0 && !rule.released.aborted)
        await rule.pause((part.length / bytesPerSecond) * 1000, AbortSignal.any([gone, rule.released]));
      await stop();
    }
  }
}

function errorOf(done: WireAnswer | undefined): Refusal | undefined {
  if (done === undefined || done.task !== undefined) return done?.task?.error;
  if (done.status === 200) return undefined;
  return refusalOf({
    name: 'SystemError',
    fields: { reason: `the call behind the task was refused: ${done.bytes.toString()}` },
  });
}

function selfOf({ body }: WireCall): { readonly type: string; readonly value: string } | undefined {
  for (const node of body?.children ?? []) {
    if (typeof node === 'string' || node.name !== '_this') continue;
    const type = node.attributes.find(({ local }) => local === 'type')?.value ?? '';
    return { type, value: node.children.filter((part) => typeof part === 'string').join('') };
  }
  return undefined;
}
