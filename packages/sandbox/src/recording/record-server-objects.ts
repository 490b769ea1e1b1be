import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { startSandbox } from '../sandbox.ts';

// Records what a fresh kube-apiserver has of its own, for the embedded API server: the objects that it creates (ClusterRoles and their bindings, namespaces, priority
// classes, flow schemas), the columns in which it prints each kind, the order of its groups, and its version. Run it when the pinned Kubernetes changes.

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly managedFields?: readonly Record<string, unknown>[];
}

interface Stored {
  readonly metadata: ObjectMeta & Record<string, unknown>;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

interface List<T> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly items: readonly T[];
}

/** Of a process, of an address, or a copy of another group's objects. */
const LEFT_OUT = new Set([
  ...['configmaps', 'leases', 'events', 'endpoints', 'endpointslices', 'componentstatuses', 'ipaddresses'],
]);

await using sandbox = await startSandbox({ backend: 'real' });
const { ca, certificate, privateKey, url } = sandbox.admin;
const dispatcher = new Agent({ connect: { ca, cert: certificate, key: privateKey } });

async function read<T>(path: string, accept = 'application/json'): Promise<T> {
  const answer = await request(`${url}${path}`, { dispatcher, headers: { accept } });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path} answers ${answer.statusCode}: ${text}`);
  return JSON.parse(text) as T;
}

function write(name: string, value: unknown): void {
  const file = join(import.meta.dirname, '../embedded/apiserver/recorded', name);
  writeFileSync(file, `${JSON.stringify(value)}\n`);
  process.stdout.write(`${name}: ${readFileSync(file).length} bytes\n`);
}

interface Group {
  readonly name: string;
  readonly versions: readonly { readonly version: string }[];
}

const { groups } = await read<{ readonly groups: readonly Group[] }>('/apis');
const objects: unknown[] = [];
const columns: Record<string, unknown> = {};
/** Each description once: most columns share theirs. */
const descriptions: string[] = [];
const bases = [
  { group: '', version: 'v1', path: '/api/v1' },
  ...groups.flatMap(({ name, versions }) =>
    versions.map(({ version }) => ({ group: name, version, path: `/apis/${name}/${version}` })),
  ),
];
const recorded = new Set<string>();
for (const { group, version, path } of bases) {
  const { resources } = await read<{ readonly resources: readonly Resource[] }>(path);
  for (const { name, kind, verbs } of resources) {
    if (!verbs.includes('list')) continue;
    const table = await read<{ readonly columnDefinitions: readonly Column[] }>(
      `${path}/${name}?limit=1`,
      'application/json;as=Table;g=meta.k8s.io;v=v1',
    );
    columns[`${group}/${version}/${name}`] = table.columnDefinitions.map(
      ({ name: title, type, format, description, priority }) => {
        if (!descriptions.includes(description)) descriptions.push(description);
        return [title, type, format, descriptions.indexOf(description), priority];
      },
    );
    // The first version of a group is its preferred one.
    if (LEFT_OUT.has(name) || recorded.has(`${group}/${name}`)) continue;
    recorded.add(`${group}/${name}`);
    const { items } = await read<List<Stored>>(`${path}/${name}`);
    const apiVersion = group === '' ? version : `${group}/${version}`;
    for (const { metadata, ...rest } of items) {
      const { uid: _uid, resourceVersion: _version, creationTimestamp: _time, ...kept } = metadata;
      const managedFields = metadata.managedFields?.map(({ time: _when, ...entry }) => ({
        ...entry,
        // The sandbox's binary has a name of its own.
        manager: String(entry['manager']).replace(/^drydock-apiserver-.*/, 'kube-apiserver'),
      }));
      const object = { kind, apiVersion, metadata: { ...kept, managedFields }, ...rest };
      objects.push({ group, plural: name, object });
    }
  }
}
write('bootstrap-objects.json', objects);
write('table-columns.json', { descriptions, columns });
write(
  'group-order.json',
  groups.map(({ name }) => name),
);
write('version.json', { ...(await read<object>('/version')), goVersion: 'embedded', platform: 'embedded' });
await dispatcher.destroy();
