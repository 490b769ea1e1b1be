import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  pathOf,
  type ServerBehaviour,
  type ServerSession,
  type VCenterServer,
  type VCenterWorld,
} from '@drydock/vsphere/testing/server';
import type {
  DatastoreChange,
  Fault,
  HostChange,
  NewClone,
  NewDatastore,
  NewPod,
  NewTag,
  NewVm,
} from '../../switchboard-types.ts';
import { RULE_FIELDS, type RuleSpec, refusalOf } from './call-rules.ts';
import type { CallSwitch } from './call-switch.ts';
import { NameLog } from './name-log.ts';
import { findObject, keyOf, toRef } from './switchboard-lookup.ts';
import {
  changeDatastore,
  changeHost,
  createDatastore,
  createFolder,
  createPod,
  createTag,
  deleteTag,
} from './switchboard-places.ts';
import { objectViews, tagViews, vmViews } from './switchboard-views.ts';
import { editVm, VM_EDIT_FIELDS } from './switchboard-vm-edit.ts';
import {
  cloneVm,
  convertVm,
  createVm,
  destroyVm,
  moveVm,
  powerVm,
  renameVm,
  setCustomAttribute,
  snapshotVm,
  startTask,
} from './switchboard-vms.ts';

interface BoardRequest {
  /** The segments that `{}` matched, in order. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Route {
  /** Fields that the body may have; others are refused. */
  readonly fields?: readonly string[];
  readonly run: (request: BoardRequest) => unknown;
}

/** vCenter's default. */
const LOCKOUT_AFTER = 5;

/** Answered with 404. */
class Gone extends Error {}
/** Answered with 408. */
class Late extends Error {}

const VM_FIELDS = ['vm', 'name', 'on', 'folder', 'field', 'value', ...VM_EDIT_FIELDS];

/** Serves the control API on loopback; resolves to its base URL. It has no authentication. */
export async function serveSwitchboard(server: VCenterServer, calls: CallSwitch): Promise<string> {
  const routes = Object.entries(routesOf(server, calls)).map(([pattern, route]) => {
    const [method = '', path = ''] = pattern.split(' ');
    return { method, path: new RegExp(`^${path.replaceAll('{}', '([^/]+)')}$`), route };
  });
  // An import of node:http would also load fetch.
  const http = process.getBuiltinModule('node:http').createServer((request, response) => {
    void answer(request, response, routes);
  });
  http.keepAliveTimeout = 120_000;
  http.requestTimeout = 0;
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

type Bound = readonly { readonly method: string; readonly path: RegExp; readonly route: Route }[];

async function answer(request: IncomingMessage, response: ServerResponse, routes: Bound): Promise<void> {
  const send = (status: number, value: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value ?? {}));
  };
  const name = (request.headers.host ?? '').replace(/:\d+$/, '');
  // Pages in a browser can reach loopback too; unlike tests, they send an Origin.
  if (request.headers.origin !== undefined || !['127.0.0.1', 'localhost', '[::1]'].includes(name))
    return send(403, { error: 'the switchboard serves loopback clients only' });
  try {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://switchboard');
    const found = routes.find(({ method, path }) => method === request.method && path.test(pathname));
    if (found === undefined) return send(404, { error: `there is no ${request.method ?? ''} ${pathname}` });
    const params = (found.path.exec(pathname) ?? []).slice(1).map(decodeURIComponent);
    const body = await bodyOf(request, found.route.fields ?? []);
    send(200, await found.route.run({ params, query: searchParams, body }));
  } catch (error) {
    const status = error instanceof Gone ? 404 : error instanceof Late ? 408 : 400;
    const text = error instanceof Error ? error.message || error.name : String(error);
    send(status, { error: text });
  }
}

async function bodyOf(request: IncomingMessage, fields: readonly string[]): Promise<BoardRequest['body']> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const body: unknown = text === '' ? {} : JSON.parse(text);
  if (typeof body !== 'object' || body === null) throw new Error('the request body is no object');
  for (const field of Object.keys(body))
    if (!fields.includes(field)) throw new Error(`the request body: unknown field "${field}"`);
  return body as BoardRequest['body'];
}

const numberOf = (query: URLSearchParams, name: string, otherwise: number): number => {
  const value = Number(query.get(name) ?? Number.NaN);
  return Number.isInteger(value) ? value : otherwise;
};
const given = (query: URLSearchParams, name: string): string | undefined => query.get(name) || undefined;

function routesOf(server: VCenterServer, calls: CallSwitch): Readonly<Record<string, Route>> {
  const { world } = server.state;
  const names = new NameLog();
  world.onName = (event) => names.add(event, pathOf(world.state, event.folder), calls.acting);
  return {
    ...ruleRoutes(calls),
    ...sessionRoutes(server, calls),
    ...viewRoutes(world),
    ...nameRoutes(names, (where) => pathOf(world.state, keyOf(findObject(world, 'Folder', where)))),
    ...taskRoutes(world),
    ...vmRoutes(world),
    ...placeRoutes(world),
  };
}

function ruleRoutes(calls: CallSwitch): Readonly<Record<string, Route>> {
  const { rules } = calls;
  const get = (id = '') => {
    const rule = rules.get(id);
    if (rule === undefined) throw new Gone('not found');
    return rule;
  };
  return {
    'POST /rules': { fields: RULE_FIELDS, run: ({ body }) => rules.add(body as unknown as RuleSpec) },
    'GET /rules': { run: () => rules.all },
    'DELETE /rules': { run: () => void rules.remove() },
    'GET /rules/{}': { run: ({ params: [id] }) => get(id) },
    'DELETE /rules/{}': { run: ({ params: [id] }) => void rules.remove(get(id).id) },
    'POST /rules/{}/release': { run: ({ params: [id] }) => get(id).release() },
    'GET /rules/{}/wait': {
      run: async ({ params: [id = ''], query }) => {
        const [taken, held] = [numberOf(query, 'taken', 0), numberOf(query, 'held', 0)];
        if (await rules.await(id, taken, held, numberOf(query, 'timeoutMs', 10_000))) return rules.get(id);
        const rule = get(id);
        const { on, do: action } = rule.spec;
        const has = `rule ${id} (${action} ${on}) took ${rule.taken} and holds ${rule.held}`;
        throw new Late(`${has}, waited for ${taken} and ${held}`);
      },
    },
    'GET /calls': { run: () => calls.calls.totals() },
    'GET /calls/log': { run: ({ query }) => calls.calls.since(numberOf(query, 'since', 0)) },
    'DELETE /calls': { run: () => calls.calls.reset() },
    'GET /uploads': { run: () => calls.uploads.totals() },
    'DELETE /uploads': { run: () => calls.uploads.reset() },
  };
}

function sessionRoutes(server: VCenterServer, calls: CallSwitch): Readonly<Record<string, Route>> {
  const { state } = server;
  const kill = (wanted: (session: ServerSession) => boolean): { readonly killed: number } => {
    const killed = [...state.sessions.values()].filter(wanted);
    for (const session of killed) server.endSession(session);
    return { killed: killed.length };
  };
  const { behaviour } = state.world;
  return {
    'GET /sessions': {
      run: () => ({
        ...server.counts,
        locked: server.lockedAccounts(),
        sessions: Array.from(state.sessions.values(), ({ id, kind, user, at, address, agent, calls: made }) => ({
          ...{ id, kind, user, at: at.toISOString(), address, agent, calls: made },
        })),
      }),
    },
    'POST /sessions/kill': {
      fields: ['ids'],
      run: ({ body }) => {
        const ids = Array.isArray(body['ids']) ? body['ids'] : [];
        return kill(({ id }) => ids.length === 0 || ids.includes(id));
      },
    },
    'PUT /logins': {
      fields: ['refuse', 'fault', 'lockout'],
      run: ({ body }) => {
        state.logins.refused = body['refuse'] === true;
        state.logins.lockoutAfter = body['lockout'] === true ? LOCKOUT_AFTER : 0;
        calls.loginFault = state.logins.refused ? (body['fault'] as Fault | undefined) : undefined;
        return body;
      },
    },
    'PUT /privileges': {
      fields: ['denied'],
      run: ({ body }) => {
        const { deniedPrivileges } = state.world.state;
        deniedPrivileges.clear();
        for (const name of Array.isArray(body['denied']) ? body['denied'] : []) deniedPrivileges.add(String(name));
        return { denied: [...deniedPrivileges].toSorted() };
      },
    },
    'POST /restart': {
      fields: ['downMs', 'keepSessions'],
      run: ({ body }) => {
        calls.goDown(Number(body['downMs'] ?? 0));
        server.cutConnections();
        return kill(() => body['keepSessions'] !== true);
      },
    },
    'GET /options': { run: () => behaviour },
    'PATCH /options': {
      fields: Object.keys(behaviour),
      run: ({ body }) => Object.assign(behaviour, body as Partial<ServerBehaviour>),
    },
  };
}

function viewRoutes(world: VCenterWorld): Readonly<Record<string, Route>> {
  return {
    'GET /vms': {
      run: ({ query }) => {
        const wanted = given(query, 'folder');
        return vmViews(world).filter(
          ({ folder, folderMoref }) => wanted === undefined || wanted === folder || wanted === folderMoref,
        );
      },
    },
    'GET /templates': { run: () => vmViews(world).filter(({ isTemplate }) => isTemplate) },
    'GET /objects/{}': { run: ({ params: [type = ''] }) => objectViews(world, type) },
    'GET /tags': { run: () => tagViews(world) },
    'GET /find': { run: ({ query }) => toRef(findObject(world, 'VirtualMachine', given(query, 'path'))) },
  };
}

function nameRoutes(names: NameLog, pathTo: (where: string) => string): Readonly<Record<string, Route>> {
  return {
    'GET /names': { run: ({ query }) => names.since(numberOf(query, 'since', 0)) },
    'GET /names/gaps': {
      run: ({ query }) => {
        const folder = given(query, 'folder');
        return names.gaps(folder === undefined ? undefined : pathTo(folder), given(query, 'name'));
      },
    },
    'DELETE /names': { run: () => names.reset() },
  };
}

function taskRoutes(world: VCenterWorld): Readonly<Record<string, Route>> {
  return {
    'POST /tasks': {
      fields: ['vm', 'method'],
      run: ({ body }) => startTask(world, textOf(body['vm']), textOf(body['method']) || undefined),
    },
    'POST /tasks/{}/end': {
      fields: ['fault'],
      run: ({ params: [id = ''], body }) => {
        const task = world.tasks.get(id);
        if (task === undefined || !world.blockers.delete(id)) throw new Gone('not found');
        const fault = body['fault'] as Fault | undefined;
        world.endTask(task, fault === undefined ? {} : { error: refusalOf(fault) });
      },
    },
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** A route whose body is the argument of a function. */
function takes<T>(fields: readonly string[], run: (spec: T) => unknown): Route {
  return { fields, run: ({ body }) => run(body as T) };
}

function vmRoutes(world: VCenterWorld): Readonly<Record<string, Route>> {
  const onVm = (run: (vm: string | undefined, body: BoardRequest['body']) => unknown): Route => ({
    fields: VM_FIELDS,
    run: ({ body }) => run(textOf(body['vm']), body),
  });
  return {
    'POST /vms': takes(
      [
        ...['name', 'folder', 'cluster', 'host', 'datastore', 'instanceUuid', 'extraConfig', 'annotation'],
        ...['productVersion', 'disks', 'template', 'powerOn'],
      ],
      (spec: NewVm) => createVm(world, spec),
    ),
    'POST /clones': takes(['template', 'name', 'folder', 'extraConfig', 'linked', 'powerOn'], (spec: NewClone) =>
      cloneVm(world, spec),
    ),
    'POST /vms/rename': onVm((vm, { name }) => renameVm(world, vm, textOf(name))),
    'POST /vms/destroy': onVm((vm) => destroyVm(world, vm)),
    'POST /vms/power': onVm((vm, { on }) => powerVm(world, vm, on === true)),
    'POST /vms/move': onVm((vm, { folder }) => moveVm(world, vm, textOf(folder))),
    'POST /vms/convert': onVm((vm, { on }) => convertVm(world, vm, on === true)),
    'POST /vms/snapshot': onVm((vm, { name }) => snapshotVm(world, vm, textOf(name) ?? '')),
    'POST /vms/custom-value': onVm((vm, { field, value }) =>
      setCustomAttribute(world, vm, textOf(field), textOf(value) ?? ''),
    ),
    'POST /vms/edit': onVm((vm, change) => editVm(world, vm, change)),
  };
}

function placeRoutes(world: VCenterWorld): Readonly<Record<string, Route>> {
  return {
    'POST /folders': takes(['path'], ({ path }: { readonly path: string }) => createFolder(world, path)),
    'POST /datastores': takes(['name', 'cluster', 'hosts'], (spec: NewDatastore) => createDatastore(world, spec)),
    'POST /datastores/edit': takes(
      ['datastore', 'freeSpace', 'accessible', 'maintenanceMode'],
      (spec: DatastoreChange & { readonly datastore?: string }) => changeDatastore(world, spec.datastore, spec),
    ),
    'POST /pods': takes(['name', 'datacenter', 'datastores'], (spec: NewPod) => createPod(world, spec)),
    'POST /hosts': takes(
      ['host', 'maintenance', 'connectionState', 'powerState', 'networks'],
      (spec: HostChange & { readonly host?: string }) => changeHost(world, spec.host, spec),
    ),
    'POST /tags': takes(['category', 'name', 'attachTo'], (spec: NewTag) => createTag(world, spec)),
    'DELETE /tags/{}/{}': { run: ({ params: [category = '', name = ''] }) => deleteTag(world, category, name) },
  };
}
