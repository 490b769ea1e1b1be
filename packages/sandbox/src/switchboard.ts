import { type Dispatcher, request } from 'undici';
import { SandboxError } from './errors.ts';
import type {
  Call,
  DatastoreChange,
  DatastoreView,
  Fault,
  HostChange,
  HostView,
  Inventory,
  NameChange,
  NameGap,
  NewClone,
  NewDatastore,
  NewPod,
  NewTag,
  NewVm,
  ObjectView,
  Options,
  Ref,
  Rule,
  RuleState,
  Sessions,
  Tag,
  Uploads,
  VmEdit,
  VmView,
} from './switchboard-types.ts';

/** Every call may be aborted. */
export interface SwitchboardCall {
  readonly signal?: AbortSignal;
}

/** A rule in force. Disposal removes it and releases what it holds. */
export interface ActiveRule extends AsyncDisposable {
  readonly id: string;
  state(options?: SwitchboardCall): Promise<RuleState>;
  /** Waits until it has taken that many calls, 1 by default. Times out after `timeoutMs`, 10 s by default. */
  taken(count?: number, options?: SwitchboardCall & { readonly timeoutMs?: number }): Promise<RuleState>;
  /** Waits until it holds that many calls or uploads, 1 by default. */
  held(count?: number, options?: SwitchboardCall & { readonly timeoutMs?: number }): Promise<RuleState>;
  /** Lets go of what it holds; it holds nothing from then on, and throttles nothing. */
  release(options?: SwitchboardCall): Promise<void>;
  remove(options?: SwitchboardCall): Promise<void>;
}

/** A task that runs on a VM until it is ended. Disposal ends it with success. */
export interface RunningTask extends AsyncDisposable {
  /** Moref value. */
  readonly id: string;
  /** Ends it, with a fault or with success; a second time does nothing. */
  end(fault?: Fault, options?: SwitchboardCall): Promise<void>;
}

/**
 * The control panel of a simulated vCenter: rules for its calls, its sessions, its inventory, and sabotage. Nothing
 * done here passes the rules or counts as a call. VMs, folders and hosts are named by inventory path (`/DC0/vm/x`), by
 * moref value (`vm-12`) or by type and value (`VirtualMachine:vm-12`). Failures are `SandboxError`s: `BadInput` with
 * the switchboard's own words, `NotReady` when a wait timed out or the simulator does not answer.
 */
export interface Switchboard {
  readonly url: string;
  /** Adds a row to the table; the first row that takes a call decides what becomes of it. */
  rule(rule: Rule, options?: SwitchboardCall): Promise<ActiveRule>;
  rules(options?: SwitchboardCall): Promise<readonly RuleState[]>;
  clearRules(options?: SwitchboardCall): Promise<void>;
  /** Running totals by method since the start or the last reset. */
  calls(
    options?: SwitchboardCall,
  ): Promise<{ readonly total: number; readonly methods: Readonly<Record<string, number>> }>;
  /** The calls in order, at most the last 20,000. */
  callLog(since?: number, options?: SwitchboardCall): Promise<readonly Call[]>;
  resetCalls(options?: SwitchboardCall): Promise<void>;
  uploads(options?: SwitchboardCall): Promise<Uploads>;
  /** Forgets the uploads seen so far. */
  resetUploads(options?: SwitchboardCall): Promise<void>;
  sessions(options?: SwitchboardCall): Promise<Sessions>;
  /** Ends sessions, all by default; their pending waits end with NotAuthenticated. Resolves to how many. */
  killSessions(ids?: readonly string[], options?: SwitchboardCall): Promise<number>;
  /** Refuses logins from now on, with InvalidLogin or the given fault. */
  refuseLogins(refuse: boolean, fault?: Rule['fault'], options?: SwitchboardCall): Promise<void>;
  /** From now on, locks accounts as vCenter does by default: five refused logins within three minutes lock one for five minutes. */
  lockAccounts(options?: SwitchboardCall): Promise<void>;
  /**
   * Privileges that are not granted; replaces the former list. Questions are answered accordingly, and calls that need one
   * fail with NoPermission and its name (REST: 403).
   */
  denyPrivileges(names: readonly string[], options?: SwitchboardCall): Promise<void>;
  /** Drops all connections, answers 503 for `downMs` and forgets the sessions; the inventory stays. */
  restart(
    how?: { readonly downMs?: number; readonly keepSessions?: boolean },
    options?: SwitchboardCall,
  ): Promise<void>;
  /** Where the simulator shall behave as vCenter does; all on at the start. */
  setOptions(change: Partial<Options>, options?: SwitchboardCall): Promise<Options>;

  /** Renames and destructions of VMs in order, those of the switchboard included; at most the last 20,000. */
  names(since?: number, options?: SwitchboardCall): Promise<readonly NameChange[]>;
  /** The times in which nothing had a name, by the server's clock. Without arguments: every name lost since the last reset. */
  nameGaps(
    of?: { readonly folder?: string; readonly name?: string },
    options?: SwitchboardCall,
  ): Promise<readonly NameGap[]>;
  resetNames(options?: SwitchboardCall): Promise<void>;

  /** All VMs, or those directly in a folder (its inventory path), oldest first. */
  vms(options?: SwitchboardCall & { readonly folder?: string }): Promise<readonly VmView[]>;
  templates(options?: SwitchboardCall): Promise<readonly VmView[]>;
  hosts(options?: SwitchboardCall): Promise<readonly HostView[]>;
  datastores(options?: SwitchboardCall): Promise<readonly DatastoreView[]>;
  objects(type: Inventory, options?: SwitchboardCall): Promise<readonly ObjectView[]>;
  tags(options?: SwitchboardCall): Promise<readonly Tag[]>;
  /** The object at an inventory path. */
  find(path: string, options?: SwitchboardCall): Promise<Ref>;

  createVm(vm: NewVm, options?: SwitchboardCall): Promise<Ref>;
  /** A worker machine: a clone of a template, with its extraConfig and an instanceUuid of its own. */
  cloneVm(clone: NewClone, options?: SwitchboardCall): Promise<Ref>;
  /** Makes the folders of a path as far as they are missing. */
  createFolder(path: string, options?: SwitchboardCall): Promise<Ref>;
  createDatastore(datastore: NewDatastore, options?: SwitchboardCall): Promise<Ref>;
  /** Makes category and tag as far as they are missing, and attaches the tag. */
  createTag(tag: NewTag, options?: SwitchboardCall): Promise<string>;
  removeTag(category: string, name: string, options?: SwitchboardCall): Promise<void>;
  renameVm(vm: string, name: string, options?: SwitchboardCall): Promise<void>;
  destroyVm(vm: string, options?: SwitchboardCall): Promise<void>;
  powerVm(vm: string, on: boolean, options?: SwitchboardCall): Promise<void>;
  moveVm(vm: string, folder: string, options?: SwitchboardCall): Promise<void>;
  /** Edits even a template. An empty extraConfig value removes the key. */
  editVm(vm: string, change: VmEdit, options?: SwitchboardCall): Promise<void>;
  /** Sets a custom attribute, which is defined as needed; works on templates. */
  setCustomValue(vm: string, field: string, value: string, options?: SwitchboardCall): Promise<void>;
  /** MarkAsVirtualMachine or MarkAsTemplate, as an administrator does it. */
  convertVm(vm: string, to: 'machine' | 'template', options?: SwitchboardCall): Promise<void>;
  snapshotVm(vm: string, name: string, options?: SwitchboardCall): Promise<void>;
  /** Begins a task that runs until it is ended, a clone by default; meanwhile the VM cannot be destroyed (TaskInProgress). */
  startTask(vm: string, method?: string, options?: SwitchboardCall): Promise<RunningTask>;
  /** By inventory path, moref value or plain name, as `changeHost`. */
  changeDatastore(datastore: string, change: DatastoreChange, options?: SwitchboardCall): Promise<void>;
  changeHost(host: string, change: HostChange, options?: SwitchboardCall): Promise<void>;
  createPod(pod: NewPod, options?: SwitchboardCall): Promise<Ref>;
}

type Method = Dispatcher.HttpMethod;

async function ask<T>(base: string, method: Method, path: string, body: unknown, call: SwitchboardCall): Promise<T> {
  const what = `${method} ${base}${path}`;
  let status: number;
  let answer: unknown;
  try {
    const response = await request(base + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    status = response.statusCode;
    answer = await response.body.json();
  } catch (cause) {
    if (call.signal?.aborted === true) throw new SandboxError('Aborted', `${what} was aborted.`, { cause });
    throw new SandboxError('NotReady', `${what} got no answer; check that the simulated vCenter runs.`, { cause });
  }
  if (status === 200) return answer as T;
  const { error } = answer as { readonly error?: string };
  const code = status === 408 ? 'NotReady' : 'BadInput';
  throw new SandboxError(code, `${what} failed with HTTP ${status}: ${error ?? 'no reason given'}.`);
}

/** A typed client of the switchboard at `url`, which is the one that the simulator printed when it was ready. */
export function connectSwitchboard(url: string): Switchboard {
  const base = url.replace(/\/$/, '');
  const get = <T>(path: string, call: SwitchboardCall = {}): Promise<T> => ask<T>(base, 'GET', path, undefined, call);
  const send = <T>(method: Method, path: string, body: unknown, call: SwitchboardCall = {}): Promise<T> =>
    ask<T>(base, method, path, body, call);
  const act = async (method: Method, path: string, body: unknown, call?: SwitchboardCall): Promise<void> => {
    await send(method, path, body, call);
  };

  const active = ({ id }: RuleState): ActiveRule => {
    const at = `/rules/${id}`;
    const wait = (
      what: string,
      count: number,
      { timeoutMs = 10_000, ...call }: SwitchboardCall & { timeoutMs?: number },
    ) => get<RuleState>(`${at}/wait?${what}=${count}&timeoutMs=${timeoutMs}`, call);
    const remove = (call?: SwitchboardCall): Promise<void> => act('DELETE', at, undefined, call);
    return {
      id,
      state: (call) => get(at, call),
      taken: (count = 1, options = {}) => wait('taken', count, options),
      held: (count = 1, options = {}) => wait('held', count, options),
      release: (call) => act('POST', `${at}/release`, undefined, call),
      remove,
      async [Symbol.asyncDispose]() {
        // It may have been removed with all others, or the simulator may be gone: then nothing is left to do.
        await remove().catch(() => undefined);
      },
    };
  };

  const running = ({ moref: id }: Ref): RunningTask => {
    let over = false;
    const end: RunningTask['end'] = async (fault, call) => {
      if (over) return;
      over = true;
      await act('POST', `/tasks/${id}/end`, { fault }, call);
    };
    return { id, end, [Symbol.asyncDispose]: () => end().catch(() => undefined) };
  };

  const query = (values: object): string => new URLSearchParams({ ...values }).toString();

  return {
    url: base,
    rule: async (rule, call) => active(await send<RuleState>('POST', '/rules', rule, call)),
    rules: (call) => get('/rules', call),
    clearRules: (call) => act('DELETE', '/rules', undefined, call),
    calls: (call) => get('/calls', call),
    callLog: (since = 0, call) => get(`/calls/log?since=${since}`, call),
    resetCalls: (call) => act('DELETE', '/calls', undefined, call),
    uploads: (call) => get('/uploads', call),
    resetUploads: (call) => act('DELETE', '/uploads', undefined, call),
    sessions: (call) => get('/sessions', call),
    killSessions: async (ids = [], call) =>
      (await send<{ killed: number }>('POST', '/sessions/kill', { ids }, call)).killed,
    lockAccounts: (call) => act('PUT', '/logins', { refuse: false, lockout: true }, call),
    refuseLogins: (refuse, fault, call) => act('PUT', '/logins', { refuse, fault }, call),
    denyPrivileges: (denied, call) => act('PUT', '/privileges', { denied }, call),
    restart: (how = {}, call) => act('POST', '/restart', how, call),
    setOptions: (change, call) => send('PATCH', '/options', change, call),
    names: (since = 0, call) => get(`/names?since=${since}`, call),
    nameGaps: (of = {}, call) => get(`/names/gaps?${query(of)}`, call),
    resetNames: (call) => act('DELETE', '/names', undefined, call),
    vms: ({ folder, ...call } = {}) => get(folder === undefined ? '/vms' : `/vms?${query({ folder })}`, call),
    templates: (call) => get('/templates', call),
    hosts: (call) => get('/objects/HostSystem', call),
    datastores: (call) => get('/objects/Datastore', call),
    objects: (type, call) => get(`/objects/${type}`, call),
    tags: (call) => get('/tags', call),
    find: (path, call) => get(`/find?path=${encodeURIComponent(path)}`, call),
    createVm: (vm, call) => send('POST', '/vms', vm, call),
    cloneVm: (clone, call) => send('POST', '/clones', clone, call),
    createFolder: (path, call) => send('POST', '/folders', { path }, call),
    createDatastore: (datastore, call) => send('POST', '/datastores', datastore, call),
    createTag: async (tag, call) => (await send<{ id: string }>('POST', '/tags', tag, call)).id,
    removeTag: (category, name, call) =>
      act('DELETE', `/tags/${encodeURIComponent(category)}/${encodeURIComponent(name)}`, undefined, call),
    renameVm: (vm, name, call) => act('POST', '/vms/rename', { vm, name }, call),
    destroyVm: (vm, call) => act('POST', '/vms/destroy', { vm }, call),
    powerVm: (vm, on, call) => act('POST', '/vms/power', { vm, on }, call),
    moveVm: (vm, folder, call) => act('POST', '/vms/move', { vm, folder }, call),
    editVm: (vm, change, call) => act('POST', '/vms/edit', { vm, ...change }, call),
    setCustomValue: (vm, field, value, call) => act('POST', '/vms/custom-value', { vm, field, value }, call),
    convertVm: (vm, to, call) => act('POST', '/vms/convert', { vm, on: to === 'template' }, call),
    snapshotVm: (vm, name, call) => act('POST', '/vms/snapshot', { vm, name }, call),
    startTask: async (vm, method, call) => running(await send<Ref>('POST', '/tasks', { vm, method }, call)),
    changeDatastore: (datastore, change, call) => act('POST', '/datastores/edit', { datastore, ...change }, call),
    changeHost: (host, change, call) => act('POST', '/hosts', { host, ...change }, call),
    createPod: (pod, call) => send<Ref>('POST', '/pods', pod, call),
  };
}
