import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Api, createApi } from '../api.ts';
import { GO_DIRECTORY } from '../paths.ts';
import { startSandbox } from '../sandbox.ts';
import { type GoFields, readGoFields } from './go-fields.ts';

// Records Kubernetes' own kinds from the real API server of the sandbox: discovery and OpenAPI documents as it serves them, and how its Go types write their
// fields. `node packages/sandbox/src/recording/record-kinds.ts` writes `embedded/apiserver/recorded-kinds.bin`; do so after each change of the pinned version.

const OUT = join(import.meta.dirname, '..', 'embedded', 'apiserver', 'recorded-kinds.bin');

type Json = Record<string, unknown>;

/** What is recorded of a server. */
export interface Recorded {
  readonly kubernetes: string;
  /** Groups of aggregated discovery, the core group first. */
  readonly groups: readonly unknown[];
  /** All schemas by name, without descriptions. */
  readonly schemas: Readonly<Record<string, unknown>>;
  readonly go: Readonly<Record<string, GoFields>>;
  /** Descriptions by schema: of itself (''), and of its fields. */
  readonly docs: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Reads a server. `get` answers with parsed JSON; `folderOf` finds the folder of a Go module. */
export async function recordKinds(
  get: (path: string, accept?: string) => Promise<Json>,
  folderOf: (module: string) => string,
): Promise<Recorded> {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const [core, others, index, version] = await Promise.all([
    get('/api', accept),
    get('/apis', accept),
    get('/openapi/v3'),
    get('/version'),
  ]);
  const groups = [...(core['items'] as unknown[]), ...(others['items'] as unknown[])];
  const schemas: Record<string, unknown> = {};
  const docs: Record<string, Record<string, string>> = {};
  const paths = Object.entries(index['paths'] as Record<string, { serverRelativeURL: string }>);
  for (const [path, { serverRelativeURL }] of paths) {
    if (!/^apis?\/.*v\d/.test(path)) continue;
    const document = await get(serverRelativeURL);
    const components = (document['components'] as { schemas?: Record<string, Json> }).schemas ?? {};
    for (const [name, schema] of Object.entries(components)) {
      docs[name] ??= descriptionsOf(schema);
      schemas[name] ??= withoutDescriptions(schema);
    }
  }
  const packages = new Set(Object.keys(schemas).map((name) => name.split('.').slice(0, -1).join('.')));
  const go: Record<string, GoFields> = {};
  for (const one of packages) {
    for (const [name, fields] of readGoFields(one, folderOf))
      if (`${one}.${name}` in schemas) go[`${one}.${name}`] = fields;
  }
  return { kubernetes: version['gitVersion'] as string, groups, schemas, go, docs };
}

function descriptionsOf(schema: Json): Record<string, string> {
  const own = typeof schema['description'] === 'string' ? { '': schema['description'] } : {};
  const fields = Object.entries((schema['properties'] ?? {}) as Record<string, Json>).flatMap(([name, field]) =>
    typeof field['description'] === 'string' ? [[name, field['description']] as const] : [],
  );
  return { ...own, ...Object.fromEntries(fields) };
}

function withoutDescriptions(schema: Json): unknown {
  const { description: _own, properties, ...rest } = schema;
  if (properties === undefined) return rest;
  const fields = Object.entries(properties as Record<string, Json>).map(([name, field]) => {
    const { description: _field, ...left } = field;
    return [name, left];
  });
  return { ...rest, properties: Object.fromEntries(fields) };
}

/** Three parts, each of them compressed by itself, so that each is read when it is needed first: what is served, the schemas, their descriptions. */
export function packed({ kubernetes, groups, schemas, go, docs }: Recorded): Buffer {
  const parts = [{ kubernetes, groups }, { schemas, go }, docs].map((part) =>
    gzipSync(Buffer.from(JSON.stringify(part)), { level: 9 }),
  );
  const head = Buffer.alloc(12);
  for (const [at, part] of parts.entries()) head.writeUInt32LE(part.length, at * 4);
  return Buffer.concat([head, ...parts]);
}

/** The folder of a Go module that the sandbox's API server is built from. */
export function goModuleFolder(module: string): string {
  const directory = join(GO_DIRECTORY, 'drydock-apiserver');
  return execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd: directory, encoding: 'utf8' }).trim();
}

async function getFrom(api: Api, path: string, accept?: string): Promise<Json> {
  const { status, body } = await api.call('GET', path, accept === undefined ? {} : { accept });
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return body as Json;
}

if (import.meta.main) {
  await using sandbox = await startSandbox({ backend: 'real' });
  await using api = createApi(sandbox.admin);
  writeFileSync(OUT, packed(await recordKinds((path, accept) => getFrom(api, path, accept), goModuleFolder)));
  process.stdout.write(`${OUT}\n`);
}
