import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { type Backend, withoutRealServers } from '../backend.ts';
import { binaryPath, build } from '../build.ts';
import { createAuthority } from '../certificate.ts';
import { serverProgram } from '../embedded/server-program.ts';
import { EMBEDDED_VCENTER, type VCenterProcessOptions } from '../embedded/vcenter/embedded-vcenter.ts';
import { cacheDirectory } from '../paths.ts';
import { connectSwitchboard, type Switchboard } from '../switchboard.ts';
import { scratchFolder } from '../workdir.ts';

/** What the server said. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A SOAP client with one cookie, by hand: nothing of what is tested stands between. */
export interface Client {
  /** Posts the content of a SOAP body. */
  call(body: string): Promise<Answer>;
  /** With the right password by default, as XML text. */
  login(password?: string): Promise<Answer>;
  put(url: string, bytes: Buffer): Promise<number>;
}

/** A running simulator with nothing else. */
export interface Simulator extends AsyncDisposable {
  readonly board: Switchboard;
  readonly child: ChildProcess;
  /** `https://127.0.0.1:<port>/sdk`. */
  readonly url: string;
  /** The folder that the simulator uses for temporary files. */
  readonly scratch: string;
  client(): Client;
  /** A REST call in a session of its own. */
  rest(verb: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer>;
}

/** `_this`, whose value is its type by default. */
export const THIS = (type: string, value: string = type): string => `<_this type="${type}">${value}</_this>`;
/** A method with its body. */
export const method = (name: string, body: string): string => `<${name} xmlns="urn:vim25">${body}</${name}>`;
const loginWith = (password: string): string =>
  method('Login', `${THIS('SessionManager')}<userName>sailor</userName><password>${password}</password>`);
/** The simplest call that needs a session. */
export const TIME: string = method('CurrentTime', THIS('ServiceInstance'));
/** Name of the fault that was answered. */
export const fault = ({ text }: Answer): string | undefined =>
  /xsi:type="(\w+)"/.exec(text.split('<detail>')[1] ?? '')?.[1];
/** Text of the first element of that name, or ''. */
export const value = ({ text }: Answer, tag: string): string =>
  new RegExp(`<${tag}[^>]*>([^<]*)</${tag}>`).exec(text)?.[1] ?? '';

/** A back end that was started. */
interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly switchboard: string;
  /** PEM of its CA. */
  readonly ca: string;
}

const CREDENTIALS = { user: 'sailor', password: 'p&w' };

async function spawned(
  command: string,
  args: readonly string[],
  scratch: string,
): Promise<{ readonly child: ChildProcess; readonly said: Readonly<Record<'url' | 'switchboard' | 'caPem', string>> }> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, TMPDIR: scratch, NODE_COMPILE_CACHE: join(cacheDirectory(), 'node') },
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, said: JSON.parse(line) as Record<'url' | 'switchboard' | 'caPem', string> };
}

const BACKENDS: Readonly<Record<Backend, (scratch: string) => Promise<Started>>> = {
  real: async (scratch) => {
    await build({ servers: ['drydock-vcenter'], crds: [], log: () => undefined });
    const flags = Object.entries(CREDENTIALS).flatMap(([name, value]) => [`--${name}`, value]);
    const { child, said } = await spawned(binaryPath('drydock-vcenter'), flags, scratch);
    return { child, ...said, ca: said.caPem };
  },
  embedded: async (scratch) => {
    const authority = createAuthority('embedded');
    const { certificate, privateKey } = authority.issueServer(['127.0.0.1']);
    const options: VCenterProcessOptions = { certificate, privateKey, ...CREDENTIALS };
    const file = join(scratch, 'vcenter.json');
    writeFileSync(file, JSON.stringify(options));
    const { args } = await serverProgram(EMBEDDED_VCENTER);
    const { child, said } = await spawned(process.execPath, [...args, file], scratch);
    return { child, ...said, ca: authority.certificate };
  },
};

/** Both, for tests that hold one to the other. */
export const backends: readonly Backend[] = ['embedded', 'real'];

/** Why tests of a back end are skipped, or false: the embedded one is always there. */
export function skips(
  backend: Backend,
  why = "it asks govmomi's simulator; the embedded vCenter is asked the same by the test before",
): string | false {
  return backend === 'real' && withoutRealServers(why);
}

/** Starts a back end with nothing else. */
export async function start(backend: Backend): Promise<Simulator> {
  const scratch = scratchFolder();
  const { child, url, switchboard, ca } = await BACKENDS[backend](scratch.path);
  const dispatcher = new Agent({ connect: { ca } });
  return {
    board: connectSwitchboard(switchboard),
    child,
    url,
    scratch: scratch.path,
    client() {
      let cookie = '';
      const call = async (body: string): Promise<Answer> => {
        const response = await request(url, {
          method: 'POST',
          dispatcher,
          headers: { 'content-type': 'text/xml', ...(cookie === '' ? {} : { cookie }) },
          body: `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><e:Body>${body}</e:Body></e:Envelope>`,
        });
        const set = response.headers['set-cookie'];
        if (set !== undefined) cookie = (Array.isArray(set) ? (set[0] ?? '') : set).split(';')[0] ?? '';
        return { status: response.statusCode, text: await response.body.text() };
      };
      return {
        call,
        login: (password = 'p&amp;w') => call(loginWith(password)),
        put: async (to, bytes) => {
          const response = await request(to, { method: 'POST', dispatcher, body: bytes });
          await response.body.dump();
          return response.statusCode;
        },
      };
    },
    async rest(verb, path, body) {
      const login = await request(new URL('/rest/com/vmware/cis/session', url), {
        method: 'POST',
        dispatcher,
        headers: { authorization: `Basic ${Buffer.from('sailor:p&w').toString('base64')}` },
      });
      const { value: session } = (await login.body.json()) as { readonly value: string };
      const response = await request(new URL(path, url), {
        method: verb,
        dispatcher,
        headers: { 'vmware-api-session-id': session, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: response.statusCode, text: await response.body.text() };
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit');
        child.stdin?.end();
        await gone;
      }
      await dispatcher.destroy();
      scratch[Symbol.dispose]();
    },
  };
}

/** Looks until it sees something, for at most 10 s. */
export async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  for (const end = Date.now() + 10_000; Date.now() < end; ) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} did not happen within 10 s`);
}

/** Whether the connection was reset. */
export const reset = (error: Error & { code?: string }): boolean =>
  error.code === 'ECONNRESET' || error.code === 'UND_ERR_SOCKET';

/** Imports a VM with one disk by lease, up to the lease being ready. */
export async function lease(
  sim: Simulator,
  client: Client,
  name: string,
): Promise<{ readonly id: string; readonly url: string }> {
  const folder = (await sim.board.find('/DC0/vm')).moref;
  const pool = (await sim.board.find('/DC0/host/DC0_C0/Resources')).moref;
  const disk =
    '<deviceChange><operation>add</operation><fileOperation>create</fileOperation><device xsi:type="VirtualDisk"><key>-1</key>' +
    '<backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName></fileName><diskMode>persistent</diskMode></backing>' +
    '<controllerKey>200</controllerKey><unitNumber>0</unitNumber><capacityInKB>1024</capacityInKB></device></deviceChange>';
  const answer = await client.call(
    method(
      'ImportVApp',
      `${THIS('ResourcePool', pool)}<spec xsi:type="VirtualMachineImportSpec"><configSpec><name>${name}</name>` +
        `<files><vmPathName>[LocalDS_0]</vmPathName></files>${disk}</configSpec></spec><folder type="Folder">${folder}</folder>`,
    ),
  );
  const id = value(answer, 'returnval');
  assert.notEqual(id, '', answer.text);
  const read = method(
    'RetrievePropertiesEx',
    `${THIS('PropertyCollector', 'propertyCollector')}<specSet><propSet><type>HttpNfcLease</type><pathSet>state</pathSet>` +
      `<pathSet>info</pathSet></propSet><objectSet><obj type="HttpNfcLease">${id}</obj></objectSet></specSet><options/>`,
  );
  return until('the lease being ready', async () => {
    const seen = await client.call(read);
    return value(seen, 'url') === '' ? undefined : { id, url: value(seen, 'url') };
  });
}

/** Waits for the end of a task and resolves to its `info`. */
export function ended(client: Client, task: string): Promise<Answer> {
  const ask = method(
    'RetrievePropertiesEx',
    `${THIS('PropertyCollector', 'propertyCollector')}<specSet><propSet><type>Task</type><pathSet>info</pathSet></propSet>` +
      `<objectSet><obj type="Task">${task}</obj></objectSet></specSet><options/>`,
  );
  return until('the end of the task', async () => {
    const answer = await client.call(ask);
    return ['success', 'error'].includes(value(answer, 'state')) && answer;
  });
}

/** Calls a `*_Task` method and waits for its end. */
export async function run(client: Client, body: string): Promise<Answer> {
  const answer = await client.call(body);
  const task = value(answer, 'returnval');
  assert.notEqual(task, '', answer.text);
  return ended(client, task);
}
