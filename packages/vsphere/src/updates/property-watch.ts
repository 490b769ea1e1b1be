import { isVimError, VimError } from '../errors.ts';
import { refText } from '../foreign-text.ts';
import type { SessionCaller } from '../session/caller.ts';
import { requireService } from '../session/service-content.ts';
import { data, type FieldValue, methodBody } from '../soap/schema.ts';
import { refKey, repeatedEnvelope } from '../soap/soap.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import { child, elements, referenceOf, type XmlElement } from '../xml/xml.ts';
import type { PropertyWatch, RefusedContainer, WatchSpec } from './feed.ts';
import { type ScannedAnswer, UpdateScanner, type UpdateSink } from './scanner.ts';

/** Of a connection that is gone without a word nobody hears before the wait is over: an empty answer a minute is what that costs. */
const MAX_WAIT_SECONDS = 60;
/** The first page of a large inventory takes a server minutes to compute. */
const COMPUTE_MS = 120_000;
/** Servers send no more in one page, whatever is asked. */
const PAGE = 100;
const TIDY_MS = 5_000;
/** A cancellation that overtook its wait is sent again after this long. */
const CANCEL_AGAIN_MS = 100;

/** See `UpdateFeed.watch`. */
export async function openWatch(
  caller: SessionCaller,
  spec: WatchSpec,
  options: CallOptions & { readonly maxWaitSeconds?: number } = {},
): Promise<PropertyWatch> {
  const { generation, content } = await caller.session.ensure(options.signal);
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const viewManager = requireService(content, 'viewManager', caller.server);
  await using made = new AsyncDisposableStack();
  const views = new Map<string, MoRef>();
  // One deadline for all: a server that hangs would hold up a stop for each thing anew.
  let late: AbortSignal | undefined;
  const tidy = (method: string, self: MoRef): Promise<void> => {
    late ??= AbortSignal.timeout(TIDY_MS);
    return discard(caller, generation, method, self, late);
  };
  // In this order, so that they go in the opposite one: no filter ever stands on a view that is gone.
  made.defer(async () => {
    await Promise.all(Array.from(views.values(), (view) => tidy('DestroyView', view)));
  });
  const refused: RefusedContainer[] = [];
  for (const ref of spec.containers) {
    if (views.has(refKey(ref))) continue;
    try {
      views.set(refKey(ref), await createView(caller, viewManager, ref, call));
    } catch (error) {
      if (!isVimError(error) || error.kind !== 'fault' || error.code === 'VIM_NOT_AUTHENTICATED') throw error;
      refused.push({ ref, error });
    }
  }
  const passing = views.size > 0 ? undefined : refused.find(({ error }) => error.retriable);
  if (passing !== undefined) throw passing.error;
  const list = await create(caller, 'CreateListView', viewManager, { obj: [...views.values()] }, call);
  made.defer(() => tidy('DestroyView', list));
  const collector = await create(caller, 'CreatePropertyCollector', content.propertyCollector, {}, call);
  made.defer(() => tidy('DestroyPropertyCollector', collector));
  const unknownPaths = await createFilter(caller, collector, list, spec.paths, call);
  return new ListWatch({
    caller,
    generation,
    viewManager,
    list,
    collector,
    views,
    unknownPaths,
    refused,
    maxWaitSeconds: options.maxWaitSeconds ?? MAX_WAIT_SECONDS,
    made: made.move(),
  });
}

interface Parts {
  readonly caller: SessionCaller;
  readonly generation: number;
  readonly viewManager: MoRef;
  readonly list: MoRef;
  readonly collector: MoRef;
  /** Container → its view. */
  readonly views: Map<string, MoRef>;
  readonly unknownPaths: readonly string[];
  readonly refused: readonly RefusedContainer[];
  readonly maxWaitSeconds: number;
  readonly made: AsyncDisposableStack;
}

class ListWatch implements PropertyWatch {
  readonly unknownPaths: readonly string[];
  readonly refused: readonly RefusedContainer[];
  readonly #parts: Parts;
  readonly #envelope: (opId: string, version: string) => string;
  /** The one of the last answer, which has its room and takes another. */
  #scan: { readonly sink: UpdateSink; readonly scanner: UpdateScanner } | undefined;
  /** Settles when the wait that is under way has ended. */
  #waiting: Promise<void> | undefined;
  /** The end of the last change of the list; changes queue up behind it. */
  #changes: Promise<void> = Promise.resolve();
  #changing = 0;
  #interrupted = false;
  /** A wait ended here of which the server may not know: an update that it hands to that wait is lost. */
  #orphan = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.unknownPaths = parts.unknownPaths;
    this.refused = parts.refused;
    const options = data('WaitOptions', { maxWaitSeconds: parts.maxWaitSeconds, maxObjectUpdates: PAGE });
    this.#envelope = repeatedEnvelope('WaitForUpdatesEx', parts.collector, (version) =>
      methodBody('WaitForUpdatesEx', { version, options }),
    );
  }

  async next(version: string, sink: UpdateSink, options: CallOptions = {}): Promise<ScannedAnswer> {
    for (;;) {
      while (this.#changing > 0) await this.#changes;
      options.signal?.throwIfAborted();
      if (this.#orphan) {
        await this.#cancel();
        this.#orphan = false;
        continue;
      }
      try {
        return await this.#wait(version, sink, options);
      } catch (error) {
        if (!(error instanceof VimError)) throw error;
        if (error.fault?.is('RequestCanceled') === true && this.#interrupted) continue;
        this.#orphan = error.kind !== 'fault';
        throw error;
      }
    }
  }

  async add(container: MoRef, options: CallOptions = {}): Promise<void> {
    const { caller, viewManager, list, views, generation } = this.#parts;
    if (views.has(refKey(container))) return;
    // Outside of the change: nobody's wait is interrupted for a container that is refused.
    const view = await createView(caller, viewManager, container, options);
    await this.#change(async () => {
      try {
        if (this.#parts.made.disposed) throw ended(caller.server);
        if (views.has(refKey(container))) {
          await discard(caller, generation, 'DestroyView', view);
          return;
        }
        const answer = await caller.call(
          'ModifyListView',
          list,
          methodBody('ModifyListView', { add: [view] }),
          options,
        );
        const unresolved = elements(answer, 'returnval').map(referenceOf);
        if (unresolved.some((ref) => ref?.value === view.value)) {
          throw new VimError({
            kind: 'protocol',
            code: 'VIM_GONE',
            op: 'ModifyListView',
            message: `the server does not take the view of ${refText(container)} into the list`,
            retriable: true,
          });
        }
      } catch (error) {
        await discard(caller, generation, 'DestroyView', view);
        throw error;
      }
      views.set(refKey(container), view);
    });
  }

  remove(container: MoRef, options: CallOptions = {}): Promise<void> {
    const { caller, list, views, generation } = this.#parts;
    return this.#change(async () => {
      const view = views.get(refKey(container));
      if (view === undefined) return;
      await caller.call('ModifyListView', list, methodBody('ModifyListView', { remove: [view] }), options);
      // Off the list it does no harm: a view that cannot be destroyed now goes with the session.
      views.delete(refKey(container));
      await discard(caller, generation, 'DestroyView', view);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.made.disposeAsync();
  }

  async #wait(version: string, sink: UpdateSink, options: CallOptions): Promise<ScannedAnswer> {
    const { caller, collector, generation, maxWaitSeconds } = this.#parts;
    const scan = this.#scan?.sink === sink ? this.#scan : { sink, scanner: new UpdateScanner(sink) };
    this.#scan = undefined;
    let answer: ScannedAnswer | undefined;
    const reader = {
      feed: (chunk: Uint8Array) => scan.scanner.feed(chunk),
      end: () => {
        answer = scan.scanner.end();
        this.#scan = scan;
      },
    };
    const body = (opId: string): string => this.#envelope(opId, version);
    const ended = Promise.withResolvers<void>();
    this.#waiting = ended.promise;
    try {
      await caller.stream('WaitForUpdatesEx', collector, body, reader, {
        generation,
        timeoutMs: maxWaitSeconds * 1000 + COMPUTE_MS,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
    } finally {
      this.#waiting = undefined;
      ended.resolve();
    }
    return answer ?? { version: undefined, truncated: false };
  }

  /** One change of the list at a time, and never during a wait: some servers then never answer that wait. */
  #change(change: () => Promise<void>): Promise<void> {
    this.#changing += 1;
    const done = this.#changes.then(async () => {
      try {
        while (this.#waiting !== undefined) {
          this.#interrupted = true;
          const ended = this.#waiting;
          await this.#cancel();
          // The cancellation may have overtaken the wait on its way.
          const again = AbortSignal.timeout(CANCEL_AGAIN_MS);
          await Promise.race([ended, new Promise<void>((resolve) => (again.onabort = () => resolve()))]);
        }
        await change();
      } finally {
        this.#changing -= 1;
      }
    });
    this.#changes = done.then(
      () => this.#settled(),
      () => this.#settled(),
    );
    return done;
  }

  #settled(): void {
    if (this.#changing === 0) this.#interrupted = false;
  }

  async #cancel(): Promise<void> {
    const { caller, collector, generation } = this.#parts;
    await discard(caller, generation, 'CancelWaitForUpdates', collector);
  }
}

function ended(server: string): VimError {
  const message = `the watch on ${server} has ended`;
  return new VimError({ kind: 'protocol', code: 'VIM_NOT_AUTHENTICATED', op: 'ModifyListView', message, sent: false });
}

async function create(
  caller: SessionCaller,
  method: string,
  self: MoRef,
  fields: Readonly<Record<string, FieldValue>>,
  options: CallOptions,
): Promise<MoRef> {
  const ref = referenceOf(child(await caller.call(method, self, methodBody(method, fields), options), 'returnval'));
  if (ref !== undefined) return ref;
  throw new VimError({
    kind: 'protocol',
    code: 'VIM_BAD_RESPONSE',
    op: method,
    message: `${caller.server} answers without what it made`,
  });
}

function createView(caller: SessionCaller, viewManager: MoRef, container: MoRef, options: CallOptions): Promise<MoRef> {
  const fields = { container, type: ['VirtualMachine'], recursive: true };
  return create(caller, 'CreateContainerView', viewManager, fields, options);
}

/** Creates the filter; a path that an older server does not know is left out. Resolves to those paths. */
async function createFilter(
  caller: SessionCaller,
  collector: MoRef,
  list: MoRef,
  paths: readonly string[],
  options: CallOptions,
): Promise<readonly string[]> {
  let left = paths;
  for (;;) {
    try {
      await create(caller, 'CreateFilter', collector, { spec: filterSpec(list, left), partialUpdates: false }, options);
      return paths.filter((path) => !left.includes(path));
    } catch (error) {
      const fault = error instanceof VimError ? error.fault : undefined;
      const unknown = fault?.is('InvalidProperty') === true ? fault.field('name') : undefined;
      const rest = left.filter((path) => path !== unknown);
      if (rest.length === left.length) throw error;
      left = rest;
      caller.log.warn(
        { server: caller.server, path: unknown },
        'This vCenter does not know a property that is to be watched: its changes will not be seen.',
      );
    }
  }
}

/** List view › container views › machines. */
function filterSpec(list: MoRef, paths: readonly string[]): XmlElement {
  const concrete = { concrete: true };
  const visitViews = data('SelectionSpec', { name: 'visitViews' }, concrete);
  return data('PropertyFilterSpec', {
    propSet: data('PropertySpec', { type: 'VirtualMachine', all: false, pathSet: paths }),
    objectSet: data('ObjectSpec', {
      obj: list,
      skip: true,
      selectSet: [
        data('TraversalSpec', { type: 'ListView', path: 'view', skip: false, selectSet: visitViews }, concrete),
        data('TraversalSpec', { name: 'visitViews', type: 'ContainerView', path: 'view', skip: false }, concrete),
      ],
    }),
  });
}

/** Best effort, within 5 s, and only while the session lives in which it was made: it all ends with that anyway. */
async function discard(
  caller: SessionCaller,
  generation: number,
  method: string,
  self: MoRef,
  late: AbortSignal = AbortSignal.timeout(TIDY_MS),
): Promise<void> {
  if (!caller.session.holds(generation)) return;
  await caller.call(method, self, methodBody(method, {}), { signal: late }).catch((error: unknown) => {
    caller.log.info(
      { server: caller.server, method, err: error },
      'Something of a watch was not taken off the server.',
    );
  });
}
