import {
  ApiError,
  type Client,
  type JsonPatchOp,
  type Key,
  type KubeClient,
  type KubeObject,
  keyText,
  type Resource,
} from '@drydock/kube';

/** Objects of all kinds in memory, with the guards of a real API server as far as boot images use them. */
export interface FakeClient extends Client, Pick<KubeClient, 'raw'> {
  readonly objects: Map<string, KubeObject>;
  /** Every write, `verb plural key`. */
  readonly writes: string[];
  /** Throws for a write, to play a server that refuses. */
  refuse: ((write: string) => Error | undefined) | undefined;
  readonly put: <T extends KubeObject>(resource: Resource<T>, object: T) => void;
  /** What `raw` answers. */
  answer: unknown;
  readonly peek: <T extends KubeObject>(resource: Resource<T>, key: Key) => T | undefined;
}

/** An empty server. */
export function fakeClient(): FakeClient {
  const objects = new Map<string, KubeObject>();
  const writes: string[] = [];
  let version = 0;
  const id = (resource: Resource<KubeObject>, key: Key): string => `${resource.plural} ${keyText(key)}`;
  const error = (code: ApiError['code'], action: string, said: string): ApiError =>
    new ApiError({ code, action, said });
  const keyOfObject = ({ metadata: { name, namespace } }: KubeObject): Key =>
    namespace === undefined ? { name } : { namespace, name };

  function read(resource: Resource<KubeObject>, key: Key): KubeObject {
    const found = objects.get(id(resource, key));
    if (found === undefined)
      throw error('NotFound', `get ${id(resource, key)}`, `${resource.plural} "${key.name}" not found`);
    return found;
  }

  function write(verb: string, resource: Resource<KubeObject>, object: KubeObject): KubeObject {
    const key = keyOfObject(object);
    const text = `${verb} ${id(resource, key)}`;
    const refused = client.refuse?.(text);
    if (refused !== undefined) throw refused;
    writes.push(text);
    return store(resource, object);
  }

  function store(resource: Resource<KubeObject>, object: KubeObject): KubeObject {
    version += 1;
    const stored = {
      ...object,
      metadata: {
        ...object.metadata,
        uid: object.metadata.uid ?? `uid-${version}`,
        generation: object.metadata.generation ?? 1,
        resourceVersion: String(version),
      },
    };
    objects.set(id(resource, keyOfObject(object)), stored);
    return stored;
  }

  function guarded(verb: string, resource: Resource<KubeObject>, object: KubeObject): KubeObject {
    const current = read(resource, keyOfObject(object));
    if (current.metadata.resourceVersion !== object.metadata.resourceVersion) {
      throw error('Conflict', `${verb} ${object.metadata.name}`, 'the object has been modified');
    }
    return write(verb, resource, object);
  }

  const client = {
    objects,
    writes,
    refuse: undefined as ((write: string) => Error | undefined) | undefined,
    put: (resource: Resource<KubeObject>, object: KubeObject) => void store(resource, object),
    peek: (resource: Resource<KubeObject>, key: Key) => objects.get(id(resource, key)),
    answer: undefined as unknown,
    raw: async () => client.answer,
    get: async (resource: Resource<KubeObject>, key: Key) => read(resource, key),
    create: async (resource: Resource<KubeObject>, object: KubeObject) => {
      if (objects.has(id(resource, keyOfObject(object)))) throw error('AlreadyExists', 'create', 'already exists');
      return write('create', resource, object);
    },
    replace: async (resource: Resource<KubeObject>, object: KubeObject) => guarded('replace', resource, object),
    replaceStatus: async (resource: Resource<KubeObject>, object: KubeObject) => guarded('status', resource, object),
    apply: async (resource: Resource<KubeObject>, want: KubeObject) => write('apply', resource, want),
    mergePatch: async (resource: Resource<KubeObject>, key: Key, patch: { metadata?: { annotations?: object } }) => {
      const current = read(resource, key);
      const annotations = { ...current.metadata.annotations, ...patch.metadata?.annotations };
      return write('merge', resource, { ...current, metadata: { ...current.metadata, annotations } });
    },
    patch: async (resource: Resource<KubeObject>, key: Key, ops: readonly JsonPatchOp[]) =>
      write('patch', resource, applyPatch(read(resource, key), ops)),
  };
  return client as unknown as FakeClient;
}

function applyPatch(object: KubeObject, ops: readonly JsonPatchOp[]): KubeObject {
  const copy = structuredClone(object) as unknown as Record<string, unknown>;
  for (const op of ops) {
    const path = op.path
      .slice(1)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const leaf = path.pop() ?? '';
    let at = copy;
    for (const part of path) at = at[part] as Record<string, unknown>;
    if (op.op === 'test') {
      if (at[leaf] !== op.value) {
        throw new ApiError({ code: 'PatchTestFailed', action: 'patch', said: `testing value ${op.path} failed` });
      }
    } else if (op.op === 'remove') delete at[leaf];
    else at[leaf] = op.value;
  }
  return copy as unknown as KubeObject;
}
