import type { Schema } from '@drydock/crd';

// A definition of 1 MB, and objects of ten kilobytes that use a little of it: fields like those of a Pod, over and over.

const PARTS = 40;
const USED = 2;

const text = (more: object = {}): Schema => ({ type: 'string', ...more });
const object = (properties: Readonly<Record<string, Schema>>, more: object = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
});
const words = 'What this field means is told here at the length at which such fields are explained. '.repeat(2);

/** As wide as a container and what belongs to it: names, resources, ports, environment, probes. */
function part(): Schema {
  const described = (of: Schema): Schema => ({ ...of, description: words }) as Schema;
  const probe = object({
    httpGet: object({
      path: text(),
      port: { 'x-kubernetes-int-or-string': true },
      scheme: text({ enum: ['HTTP', 'HTTPS'] }),
    }),
    periodSeconds: { type: 'integer', minimum: 1 },
    timeoutSeconds: { type: 'integer', maximum: 3600 },
  });
  const container = object(
    {
      name: text({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
      image: text({ maxLength: 1024 }),
      args: { type: 'array', maxItems: 100, items: text() },
      env: {
        type: 'array',
        items: object({ name: text({ minLength: 1 }), value: text() }, { required: ['name'] }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      } as Schema,
      ports: {
        type: 'array',
        items: object({
          name: text({ maxLength: 15 }),
          containerPort: { type: 'integer', minimum: 1, maximum: 65_535 },
          protocol: text({ enum: ['TCP', 'UDP', 'SCTP'] }),
        }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      } as Schema,
      livenessProbe: probe,
      readinessProbe: probe,
      resources: object({
        limits: { type: 'object', additionalProperties: { 'x-kubernetes-int-or-string': true } } as Schema,
        requests: { type: 'object', additionalProperties: { 'x-kubernetes-int-or-string': true } } as Schema,
      }),
      since: text({ format: 'date-time' }),
    },
    { required: ['name'] },
  );
  const many = Array.from({ length: 40 }, (_, at) => [`setting${at}`, described(text({ maxLength: 200 }))] as const);
  const ruled = { 'x-kubernetes-validations': [{ rule: "self.mode != 'off' || !has(self.containers)" }] };
  return object(
    {
      mode: text({ enum: ['on', 'off'] }),
      containers: { type: 'array', maxItems: 20, items: described(container) },
      ...Object.fromEntries(many),
    },
    { ...ruled, required: ['mode'] },
  );
}

/** The definition of a release; only the newer one knows `newerField`. */
export function largeCrd(release: 'older' | 'newer'): object {
  const parts = Object.fromEntries(Array.from({ length: PARTS }, (_, at) => [`part${at}`, part()]));
  const newer = release === 'newer' ? { newerField: text() } : {};
  const phase = text({ enum: release === 'newer' ? ['Ready', 'Newer'] : ['Ready'] });
  const status = object({ phase, observedGeneration: { type: 'integer' } });
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'larges.bench.example.com', resourceVersion: '5' },
    spec: {
      group: 'bench.example.com',
      scope: 'Cluster',
      names: { kind: 'Large', plural: 'larges' },
      versions: [{ ...version, schema: { openAPIV3Schema: object({ spec: object({ ...parts, ...newer }), status }) } }],
    },
  };
}

/** One in a hundred has a field that the older release lacks, another one a value. */
export function largeObject(index: number): object {
  const name = `object-${index}`;
  const used = Array.from(
    { length: USED },
    (_, at) => [`part${(index + at * 7) % PARTS}`, partOf(index + at)] as const,
  );
  const newer = index % 100 === 0 ? { newerField: 'x' } : {};
  return {
    apiVersion: 'bench.example.com/v1',
    kind: 'Large',
    metadata: {
      name,
      uid: name,
      resourceVersion: `${index + 10}`,
      generation: 1,
      labels: { app: `app-${index % 90}` },
    },
    spec: { ...Object.fromEntries(used), ...newer },
    status: { phase: index % 100 === 50 ? 'Newer' : 'Ready', observedGeneration: 1 },
  };
}

function partOf(index: number): object {
  const container = (at: number): object => ({
    name: `container-${at}`,
    image: `registry.example.com/team/image-${index % 500}@sha256:${'0123456789abcdef'.repeat(4)}`,
    args: ['--verbose', `--id=${index}`],
    env: Array.from({ length: 12 }, (_, one) => ({ name: `VARIABLE_${one}`, value: `value ${one} of ${index}` })),
    ports: [
      { name: 'http', containerPort: 8080, protocol: 'TCP' },
      { name: 'metrics', containerPort: 9090, protocol: 'TCP' },
    ],
    livenessProbe: { httpGet: { path: '/livez', port: 8080, scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 3 },
    readinessProbe: { httpGet: { path: '/readyz', port: 'http', scheme: 'HTTP' }, periodSeconds: 5, timeoutSeconds: 3 },
    resources: { limits: { cpu: 1, memory: '1Gi' }, requests: { cpu: '100m', memory: '256Mi' } },
    since: '2026-01-02T03:04:05Z',
  });
  const settings = Array.from({ length: 20 }, (_, at) => [`setting${at}`, `setting ${at} of object ${index}`] as const);
  return { mode: 'on', containers: [0, 1, 2].map(container), ...Object.fromEntries(settings) };
}
