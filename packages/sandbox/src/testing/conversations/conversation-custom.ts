import type { Conversation, Line, Spoken } from './conversation-player.ts';

const G = 'g.NS.io';
/** The server's controllers have looked at the names of a definition. */
function isDecided({ body }: Spoken): boolean {
  const { conditions } =
    (body as { readonly status?: { readonly conditions?: readonly Condition[] | null } }).status ?? {};
  return (conditions ?? []).some(
    ({ type, status, reason }) => type === 'Established' && (status === 'True' || reason === 'NotAccepted'),
  );
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const crd = (plural: string, schema?: unknown, more: object = {}, v: object = {}): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${G}` },
  spec: {
    group: G,
    names: { kind: plural.slice(0, 1).toUpperCase() + plural.slice(1, -1), plural },
    scope: 'Namespaced',
    versions: [
      { name: 'v1', served: true, storage: true, ...(schema ? { schema: { openAPIV3Schema: schema } } : {}), ...v },
    ],
    ...more,
  },
});
const S = (spec: unknown, more: object = {}): object => ({
  type: 'object',
  properties: { spec, status: { type: 'object', properties: { phase: { type: 'string' } } } },
  ...more,
});
const post = (body: unknown): Line => ({ method: 'POST', path: crds, body });
const est = (plural: string): Line => ({ method: 'GET', path: `${crds}/${plural}.${G}`, until: isDecided, pause: 100 });
const W = `/apis/${G}/v1/namespaces/NS/foos`;
const cr = (spec: unknown, more: { readonly metadata?: object; readonly extra?: object } = {}): object => ({
  apiVersion: `${G}/v1`,
  kind: 'Foo',
  metadata: { name: 'a', ...more.metadata },
  spec,
  ...more.extra,
});
const merge = (path: string, body: unknown, q = ''): Line => ({
  method: 'PATCH',
  path: path + q,
  type: 'application/merge-patch+json',
  body,
});
const o = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
/** Custom kinds: their definitions, right and wrong, and objects of them. */
export const CUSTOM_KINDS: Conversation = {
  name: 'custom kinds, from their definition to its deletion',
  lines: [
    post(
      crd(
        'foos',
        S(
          o({
            size: { type: 'integer', format: 'int32', minimum: 1, maximum: 9, default: 2 },
            name: { type: 'string', minLength: 2, maxLength: 5, pattern: '^a' },
            list: {
              type: 'array',
              items: { type: 'string' },
              maxItems: 2,
              minItems: 1,
              'x-kubernetes-list-type': 'set',
            },
            map: { type: 'object', additionalProperties: { type: 'integer' }, maxProperties: 2 },
            when: { type: 'string', format: 'date-time' },
            num: { type: 'number', multipleOf: 0.5, exclusiveMinimum: true, minimum: 0 },
            en: { type: 'string', enum: ['a', 'b'] },
            ios: { 'x-kubernetes-int-or-string': true },
            any: { 'x-kubernetes-preserve-unknown-fields': true },
            one: {
              type: 'object',
              properties: { a: { type: 'string' }, b: { type: 'string' } },
              oneOf: [{ required: ['a'] }, { required: ['b'] }],
            },
            emb: {
              type: 'object',
              'x-kubernetes-embedded-resource': true,
              'x-kubernetes-preserve-unknown-fields': true,
            },
            req: { type: 'object', required: ['x'], properties: { x: { type: 'string' } } },
            uni: {
              type: 'array',
              uniqueItems: false,
              items: {
                type: 'object',
                required: ['k'],
                properties: { k: { type: 'string' }, v: { type: 'integer', default: 7 } },
              },
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['k'],
            },
            ip: { type: 'string', format: 'ipv4' },
            b: { type: 'string', format: 'byte' },
            email: { type: 'string', format: 'email' },
            uuid: { type: 'string', format: 'uuid' },
            uri: { type: 'string', format: 'uri' },
            dur: { type: 'string', format: 'duration' },
            cidr: { type: 'string', format: 'cidr' },
            host: { type: 'string', format: 'hostname' },
            date: { type: 'string', format: 'date' },
            nul: { type: 'string', nullable: true },
          }),
        ),
        {},
        {
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.replicas' },
          },
          additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
          selectableFields: [{ jsonPath: '.spec.name' }],
        },
      ),
    ),
    est('foos'),
    { method: 'GET', path: W, quiet: true, until: (a) => a.code === 200 },
    { method: 'POST', path: W, body: cr({}), until: (a) => a.code !== 404, pause: 2200 },
    {
      method: 'POST',
      path: W,
      body: cr(
        {
          size: 'x',
          name: 'b',
          list: [],
          map: { a: 1, b: 2, c: 3 },
          when: 'x',
          num: 0.3,
          en: 'c',
          ios: true,
          one: {},
          emb: { a: 1 },
          req: {},
          uni: [{ k: 'a' }, { k: 'a' }],
          ip: 'x',
          b: '!',
          email: 'x',
          uuid: 'x',
          uri: ':x',
          dur: 'x',
          cidr: 'x',
          host: '-x',
          date: 'x',
        },
        { metadata: { name: 'b' } },
      ),
    },
    {
      method: 'POST',
      path: W,
      body: cr(
        {
          size: 0,
          name: 'bbbbbbbbbbbb',
          list: ['a', 'a', 'b'],
          map: { a: 'x' },
          num: 0,
          one: { a: 'x', b: 'y' },
          emb: { apiVersion: 'v1', kind: 'X', metadata: { foo: 1, name: 'x' } },
          uni: [{}],
        },
        { metadata: { name: 'b' } },
      ),
    },
    {
      method: 'POST',
      path: W,
      body: cr(
        {
          size: 11,
          emb: { apiVersion: 'v1', kind: 'X', metadata: { foo: 1, name: 'x' } },
          uni: [{ k: 'x', z: 1 }],
          zz: 1,
          any: null,
          nul: null,
        },
        { metadata: { name: 'b', foo: 1 } },
      ),
    },
    {
      method: 'POST',
      path: W,
      body: cr(
        {
          size: 9,
          emb: { apiVersion: 'v1', kind: 'X', metadata: { foo: 1, name: 'x' } },
          uni: [{ k: 'x', z: 1 }],
          zz: 1,
          any: null,
          nul: null,
        },
        { metadata: { name: 'b', foo: 1 } },
      ),
    },
    {
      method: 'POST',
      path: `${W}?fieldValidation=Strict`,
      body: cr({ size: 9, uni: [{ k: 'x', z: 1 }], zz: 1 }, { metadata: { name: 'c', foo: 1 } }),
    },
    merge(`${W}/a`, { spec: { zz: 1 } }, '?fieldValidation=Strict'),
    merge(`${W}/a`, { spec: { size: 'x' } }),
    merge(`${W}/a`, { metadata: { labels: { a: 1 } } }),
    merge(`${W}/a`, { spec: 5 }),
    { method: 'POST', path: W, body: cr(5, { metadata: { name: 'z' } }) },
    { method: 'POST', path: W, body: { ...cr({}, { metadata: { name: 'z' } }), kind: 'Bar' } },
    { method: 'POST', path: W, body: { ...cr({}, { metadata: { name: 'z' } }), apiVersion: 'v1' } },
    { method: 'POST', path: W, body: { spec: {} } },
    { method: 'POST', path: W, body: { ...cr({}, { metadata: { name: 'Z_z', namespace: 'x' } }) } },
    { method: 'POST', path: W, body: { ...cr({}, { metadata: { name: 'Z_z' } }) } },
    { method: 'POST', path: W, body: { ...cr({}, { metadata: { name: 'z', labels: 'x' } }) } },
    { method: 'GET', path: `${W}/a/scale` },
    merge(`${W}/a/scale`, { spec: { replicas: 5 } }),
    merge(`${W}/a/scale`, { spec: { replicas: 50 } }),
    { method: 'GET', path: `${W}?fieldSelector=spec.name=` },
    { method: 'GET', path: `${W}?fieldSelector=spec.foo=` },
    merge(`${W}/a/status`, { status: { phase: 5 } }),
    merge(`${W}/a/status`, { status: { phase: 'x', z: 1 } }),
    { method: 'GET', path: `${W}/a/foo` },
    { method: 'PATCH', path: `${W}/a`, type: 'application/strategic-merge-patch+json', body: {} },
    { method: 'PUT', path: `${W}/new`, body: cr({}, { metadata: { name: 'new' } }) },
    { method: 'PUT', path: `${W}/new`, body: cr({}, { metadata: { name: 'new', resourceVersion: '1' } }) },
    { method: 'DELETE', path: `${W}/b` },
    { method: 'DELETE', path: W },
    // refused CRDs
    post(crd('bars')),
    post({ ...crd('bars', S(o({}))), metadata: { name: 'x' } }),
    post(crd('bars', { properties: { a: {} } })),
    post(crd('bars', S({ properties: { a: { type: 'foo' } } }))),
    post(
      crd(
        'bars',
        S(
          o({
            a: { type: 'array' },
            b: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
            c: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'map' },
            d: { type: 'string', default: 5 },
            e: { type: 'string', 'x-kubernetes-preserve-unknown-fields': true },
            f: { type: 'string', pattern: '(' },
            g: { oneOf: [{ type: 'string' }] },
            h: { type: 'array', uniqueItems: true, items: { type: 'string' } },
          }),
        ),
      ),
    ),
    post({
      ...crd('bars', S(o({})), {
        versions: [
          { name: 'v1', served: true, storage: false, schema: { openAPIV3Schema: S(o({})) } },
          { name: 'v1', served: true, storage: false, schema: { openAPIV3Schema: S(o({})) } },
        ],
      }),
    }),
    post(crd('bars', S(o({})), { scope: 'Foo', group: 'x' })),
    post(crd('bars', S(o({})), { names: { kind: 'foo_', plural: 'Bars', shortNames: ['B'] } })),
    post(crd('bars', S(o({})), { conversion: { strategy: 'Webhook' } })),
    post(
      crd(
        'bars',
        S(
          o(
            {},
            { 'x-kubernetes-validations': [{ rule: 'self.x > 1' }, { rule: 'foo(' }, { rule: '5' }, { rule: '' }] },
          ),
        ),
      ),
    ),
    post(
      crd('bars', {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { foo: { type: 'string' } } } },
      }),
    ),
    post(crd('bars', S(o({ a: { type: 'string' } })), { names: { kind: 'Foo', plural: 'bars' } })),
    est('bars'),
    { method: 'GET', path: `/apis/${G}/v1/namespaces/NS/bars` },
    merge(`${crds}/foos.${G}`, { spec: { scope: 'Cluster', group: 'x.y' } }),
    merge(`${crds}/foos.${G}`, {
      spec: { versions: [{ name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: S(o({})) } }] },
    }),
    { method: 'POST', path: W, body: cr({ size: 3 }, { metadata: { name: 'last', finalizers: ['a.b/c'] } }) },
    { method: 'DELETE', path: `${crds}/foos.${G}`, pause: 500 },
    { method: 'GET', path: `${crds}/foos.${G}` },
    { method: 'GET', path: `${W}/last` },
    { method: 'POST', path: W, body: cr({}, { metadata: { name: 'no' } }) },
    merge(`${W}/last`, { metadata: { finalizers: null } }),
    { ...merge(`${W}/last`, {}), quiet: true, pause: 1500 },
    { method: 'GET', path: `${crds}/foos.${G}`, until: (a) => a.code === 404 },
    { method: 'GET', path: W },
  ],
};
