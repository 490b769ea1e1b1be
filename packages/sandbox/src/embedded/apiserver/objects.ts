import { randomUUID } from 'node:crypto';
import {
  type Admission,
  createServer,
  createStore,
  inTime,
  type JsonObject,
  metadataOf,
  nameOf,
  Refusal,
  type ServedKind,
  type ServerPorts,
  type StoredEvent,
  seconds,
  served,
  storeId,
  systemClock,
} from '@drydock/kube/testing/api-server';
import { refuseUnsimulated } from '../workloads/unsimulated-features.ts';
import { isExempt } from './admission-match.ts';
import { builtInKinds, builtInResources, NOT_SERVED, STORED } from './builtin.ts';
import {
  type ObjectServer,
  type ObjectServerOptions,
  type ObjectsAnswer,
  type ObjectsRequest,
  RequestRefused,
  type ServedResource,
  type StoredChange,
  type StoredObject,
  type UserInfo,
  type WatchEvent,
} from './contract.ts';
import { customDocument } from './crd-document.ts';
import { type CrdRegistry, createCrdRegistry } from './crd-registry.ts';
import { eventOfGroup, storedEvent } from './event-forms.ts';
import { startObjectControllers } from './object-controllers.ts';
import { validateByPolicies } from './policy-admission.ts';
import { createAuthorizer } from './rbac-authorizer.ts';
import type { AccessRequest } from './rbac-rules.ts';
import { recordedDocument } from './recorded.ts';
import type { TypeSchema } from './recorded-schema.ts';
import { strategicMerge } from './strategic-merge.ts';
import { notImplemented, subresource } from './subresources.ts';
import { refuseUnenforced } from './unenforced-limits.ts';
import { mutateByWebhooks, validateByWebhooks } from './webhook-admission.ts';
import { convertByWebhook, convertsByWebhook } from './webhook-conversion.ts';

export type * from './contract.ts';
export { RequestRefused } from './contract.ts';

/** What the history keeps: older resourceVersions are 410, as after the compactions of a real server. */
const HISTORY = { changes: 10_000, bytes: 64 << 20 };

/** Paths of the resources that are not served. */
const NOT_SERVED_PATHS = NOT_SERVED.map((resource) => {
  const [group = '', version = '', plural = ''] = resource.split('/');
  return { resource, path: new RegExp(`^/apis/${group}/${version}/(?:namespaces/[^/]+/)?${plural}(?:[/?]|$)`) };
});

/** The objects half of an API server, with Kubernetes' own kinds and the namespaces that every cluster has. */
export function createObjectServer(options: ObjectServerOptions = {}): ObjectServer {
  const { era = 'E2' } = options;
  const clock = options.clock ?? systemClock;
  const { commit } = options;
  const store = createStore({
    ...HISTORY,
    ...(commit === undefined ? {} : { commit: (event: StoredEvent) => commit(changeOf(event)) }),
  });
  const kinds: ServedKind[] = [];
  const kindOf = (group: string, plural: string): ServedKind | undefined =>
    kinds.find((one) => one.group === group && one.plural === plural);
  const listeners = new Set<() => void>();
  const host = {
    list: (group: string, plural: string): readonly JsonObject[] => {
      const kind = kindOf(group, plural);
      return kind === undefined ? [] : store.list(kind).map(([, object]) => object);
    },
    now: () => seconds(clock.date()),
    scaleOf: (kind: ServedKind, version: string) => registry.scaleOf(kind, version),
    optionalOldSelf: era !== 'E0',
    simulated: options.workloads === true,
  };
  kinds.push(...builtInKinds(host));
  const admissionHost = {
    list: host.list,
    authorize: (user: UserInfo, request: AccessRequest) => authorizer.authorize(user, request),
    findService: (namespace: string, name: string) => {
      const services = kindOf('', 'services');
      return services !== undefined && store.get(services, storeId(namespace, name)) !== undefined;
    },
    namespaceOf: ({ kind, namespace }: Admission) => {
      const of = kindOf('', 'namespaces');
      const found =
        !kind.namespaced || of === undefined ? undefined : store.get(of, storeId(undefined, namespace ?? ''));
      return found === undefined || of === undefined ? undefined : served(found, of, 'v1');
    },
    objectsOf: (apiVersion: string, name: string) => {
      const [version = '', group = ''] = apiVersion.split('/').toReversed();
      const of = kinds.find((one) => one.group === group && one.kind === name && one.versions.includes(version));
      return of === undefined ? undefined : store.list(of).map(([, object]) => served(object, of, version));
    },
  };
  const ports: ServerPorts = {
    strategicMerge: (current, patch, kind, version) =>
      strategicMerge(current, patch, kind.schema(version) as TypeSchema),
    other: (request) => subresource(request, host),
    converts: (kind) => kind.storedAs !== undefined || (!kind.builtIn && convertsByWebhook(registry.crdOf(kind))),
    *convert(kind, objects, version) {
      if (kind.storedAs !== undefined) return objects.map(version === STORED ? storedEvent : eventOfGroup);
      const crd = registry.crdOf(kind);
      if (crd === undefined) return objects;
      return yield* convertByWebhook(crd, kind, objects, version, admissionHost.findService);
    },
    *mutate(admission) {
      if (isExempt(admission.kind)) return admission.object ?? {};
      return (yield* mutateByWebhooks(admission, admissionHost)) ?? {};
    },
    *validate(admission) {
      if (options.workloads === true) refuseUnsimulated(admission);
      refuseUnenforced(admission, admissionHost);
      if (isExempt(admission.kind)) return;
      validateByPolicies(admission, admissionHost);
      yield* validateByWebhooks(admission, admissionHost);
    },
  };
  const server = createServer(store, kinds, clock, ports);
  const builtIn = builtInServed();
  let resources: readonly ServedResource[] | undefined;
  const crds = kindOf('apiextensions.k8s.io', 'customresourcedefinitions') as ServedKind;
  const registry: CrdRegistry = createCrdRegistry(
    {
      store,
      kinds,
      era,
      server: () => server,
      now: host.now,
      changed: () => {
        resources = undefined;
        for (const listener of [...listeners]) listener();
      },
    },
    crds,
  );
  store.subscribe(({ kind, old, now }) => {
    if (kind === crds) {
      if (now === undefined) registry.removed(old ?? {});
      else registry.changed(now);
    } else if (!kind.builtIn && now === undefined) registry.emptied(kind);
  });

  const restore = (custom: boolean): void => {
    for (const { group, plural, namespace, name, object } of options.state?.objects ?? []) {
      const kind = kindOf(group, plural);
      if (kind === undefined || kind.builtIn === custom) continue;
      store.restore(kind, storeId(namespace, name), bare(object), options.state?.version ?? 1);
    }
  };
  // CRDs first: the others are of their kinds.
  restore(false);
  registry.restore();
  restore(true);
  const namespaces = kindOf('', 'namespaces');
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
    if (namespaces === undefined || store.get(namespaces, storeId(undefined, name)) !== undefined) continue;
    store.put(namespaces, storeId(undefined, name), {
      metadata: {
        name,
        uid: randomUUID(),
        creationTimestamp: seconds(clock.date()),
        labels: { 'kubernetes.io/metadata.name': name },
      },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  }

  const controllers =
    options.controllers === undefined
      ? undefined
      : startObjectControllers({ store, kinds, server: () => server, rootCa: options.controllers.rootCa });

  const objects: ObjectServer = {
    answer: async (request): Promise<ObjectsAnswer> => {
      try {
        const missing = NOT_SERVED_PATHS.find(({ path }) => path.test(request.path));
        if (missing !== undefined) return refusalOf(notImplemented(missing.resource));
        if (!isServed(kinds, request.path)) return { code: 404, body: '404 page not found\n' };
        return await inTime(server.steps(coreRequest(request)));
      } catch (error) {
        if (error instanceof URIError) return { code: 400, body: '400 Bad Request' };
        // Recursion over a value of a client's.
        if (error instanceof RangeError) return tooDeep();
        throw error;
      }
    },
    watch: async (request, listener) => {
      try {
        return server.watch(coreRequest(request), {
          event: (event) => listener.event(event as unknown as WatchEvent),
          end: () => listener.end(),
        });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        throw new RequestRefused(refusalOf(error));
      }
    },
    resources: () => {
      resources ??= [...builtIn, ...registry.resources()];
      return resources;
    },
    schemas: (group, version) => {
      const known = builtIn.some((one) => one.group === group && one.version === version);
      return known ? recordedDocument(group, version) : customDocument(registry, kinds, group, version);
    },
    onServed: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    get version() {
      return store.version;
    },
    peek: (group, plural, { namespace, name }) => {
      const kind = kindOf(group, plural);
      const found = kind === undefined ? undefined : store.get(kind, storeId(namespace, name));
      return kind === undefined || found === undefined ? undefined : served(found, kind, kind.versions[0] ?? '');
    },
    list: (group, plural) => {
      const kind = kindOf(group, plural);
      return kind === undefined ? [] : store.list(kind).map(([, one]) => served(one, kind, kind.versions[0] ?? ''));
    },
    snapshot: () => ({
      version: store.version,
      objects: [...store.all()].map(([kind, id, object]) => storedObject(kind, id, object)),
    }),
    subscribe: (listener) => store.subscribe((event) => listener(changeOf(event))),
    compact: () => store.compact(),
    [Symbol.asyncDispose]: async () => {
      controllers?.[Symbol.dispose]();
      authorizer[Symbol.dispose]();
      listeners.clear();
    },
  };
  const authorizer = createAuthorizer(objects);
  return objects;
}

function coreRequest({
  method,
  path,
  body,
  contentType,
  accept,
  agent,
  user,
}: ObjectsRequest): Parameters<ReturnType<typeof createServer>['answer']>[0] {
  return { method, path, contentType, accept, agent, user, ...(body === undefined ? {} : { body }) };
}

function refusalOf({ status }: Refusal): ObjectsAnswer {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status };
  return { code: status.code, body };
}

/** Whether anything is served at a path: what is not is answered by nobody of the API, with a page. */
function isServed(kinds: readonly ServedKind[], path: string): boolean {
  const [, group = '', version = '', plural = ''] =
    /^\/(?:api|apis\/([^/]+))\/([^/?]+)(?:\/namespaces\/[^/]+(?=\/[^/]+))?\/([^/?]+)/.exec(path) ?? [];
  return kinds.some(
    (kind) => kind.group === group && kind.versions.includes(version) && (kind.builtIn || kind.plural === plural),
  );
}

function tooDeep(): ObjectsAnswer {
  const message = 'the object is nested deeper than the embedded API server can process';
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'BadRequest',
    message,
    code: 400,
  };
  return { code: 400, body };
}

function storedObject(kind: ServedKind, id: string, object: JsonObject): StoredObject {
  const { namespace } = metadataOf(object);
  return {
    group: kind.group,
    plural: kind.plural,
    namespace: typeof namespace === 'string' ? namespace : undefined,
    name: nameOf(object) === '' ? id.slice(id.indexOf('/') + 1) : nameOf(object),
    object: served(object, kind, kind.storageVersion ?? kind.versions[0] ?? ''),
  };
}

function changeOf({ version, kind, id, old, now }: StoredEvent): StoredChange {
  const { object, ...place } = storedObject(kind, id, now ?? old ?? {});
  return { version, ...place, ...(now === undefined ? {} : { object }) };
}

function bare(object: JsonObject): JsonObject {
  const { apiVersion: _version, kind: _kind, ...rest } = object;
  return rest;
}

/** What discovery says of Kubernetes' own kinds. */
function builtInServed(): readonly ServedResource[] {
  return builtInResources().map(({ group, version, recorded }) => ({
    group,
    version,
    plural: recorded.resource,
    singular: recorded.singularResource,
    kind: recorded.responseKind?.kind ?? '',
    listKind: `${recorded.responseKind?.kind ?? ''}List`,
    shortNames: recorded.shortNames ?? [],
    categories: recorded.categories ?? [],
    namespaced: recorded.scope === 'Namespaced',
    verbs: recorded.verbs,
    subresources: (recorded.subresources ?? []).map(({ subresource, responseKind, verbs }) => ({
      name: subresource,
      group: responseKind?.group ?? group,
      version: responseKind?.version ?? version,
      kind: responseKind?.kind ?? '',
      verbs,
    })),
    additionalPrinterColumns: [],
    storageVersion: version,
    builtIn: true,
  }));
}
