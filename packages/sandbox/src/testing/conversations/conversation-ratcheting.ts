import { type Conversation, isEstablished, type Line } from './conversation-player.ts';

const G = 'rat.NS.io',
  crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const o = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const sch = (narrow: boolean): object => ({
  openAPIV3Schema: o({
    spec: o(
      {
        c: { type: 'string', ...(narrow ? { enum: ['a'] } : {}) },
        n: { type: 'integer', ...(narrow ? { maximum: 5 } : {}) },
        x: { type: 'string' },
        l: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: o(
            { k: { type: 'string' }, v: { type: 'string', ...(narrow ? { maxLength: 2 } : {}) } },
            { required: ['k'], ...(narrow ? { 'x-kubernetes-validations': [{ rule: "self.v != 'bad'" }] } : {}) },
          ),
        },
        al: { type: 'array', items: o({ k: { type: 'string', ...(narrow ? { maxLength: 1 } : {}) } }) },
        r: o(
          { a: { type: 'integer' }, b: { type: 'integer' } },
          narrow ? { required: ['b'], 'x-kubernetes-validations': [{ rule: 'self.a < 3', message: 'too big' }] } : {},
        ),
        t: { type: 'integer', ...(narrow ? { 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] } : {}) },
      },
      narrow
        ? {
            'x-kubernetes-validations': [
              {
                rule: "!has(self.x) || self.x != 'no'",
                fieldPath: '.x',
                reason: 'FieldValueForbidden',
                messageExpression: "'x is ' + self.x",
              },
            ],
          }
        : {},
    ),
    status: o({
      p: { type: 'string', ...(narrow ? { enum: ['A'] } : {}) },
      q: { type: 'integer' },
      list: { type: 'array', items: { type: 'string', ...(narrow ? { enum: ['one'] } : {}) } },
    }),
  }),
});
const crd = (
  narrow: boolean,
  name = 'foos',
): Record<string, unknown> & { readonly spec: Record<string, unknown> & { readonly versions: unknown } } => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${name}.${G}` },
  spec: {
    group: G,
    names: { kind: name.slice(0, 1).toUpperCase() + name.slice(1, -1), plural: name },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: sch(narrow) }],
  },
});
const P = `/apis/${G}/v1/namespaces/NS/foos`;
const merge = (path: string, body: unknown, q = ''): Line => ({
  method: 'PATCH',
  path: path + q,
  type: 'application/merge-patch+json',
  body,
});
const mk = (name: string, spec: unknown): Line => ({
  method: 'POST',
  path: P,
  body: { apiVersion: `${G}/v1`, kind: 'Foo', metadata: { name }, spec },
});
const lines: readonly Line[] = [
  { method: 'POST', path: crds, body: crd(false) },
  { method: 'GET', path: `${crds}/foos.${G}`, quiet: true, until: isEstablished, pause: 2500 },
  { method: 'GET', path: P, quiet: true, until: ({ code }) => code === 200 },
  mk('a', {
    c: 'z',
    n: 9,
    x: 'no',
    l: [
      { k: '1', v: 'long' },
      { k: '2', v: 'bad' },
    ],
    al: [{ k: 'zz' }],
    r: { a: 7 },
    t: 5,
  }),
  mk('b', { c: 'a', t: 5 }),
  merge(`${P}/a/status`, { status: { p: 'Z', list: ['two'] } }),
  { ...merge(`${crds}/foos.${G}`, { spec: { versions: crd(true).spec.versions } }), pause: 1500 },
  {
    method: 'POST',
    path: `${P}?dryRun=All`,
    quiet: true,
    body: { apiVersion: `${G}/v1`, kind: 'Foo', metadata: { name: 'q' }, spec: { c: 'z' } },
    until: ({ code }) => code === 422,
  },
  merge(`${P}/a`, { metadata: { labels: { a: 'b' } } }),
  merge(`${P}/a`, { spec: { n: 8 } }),
  merge(`${P}/a`, { spec: { n: 3 } }),
  merge(`${P}/a`, { spec: { r: { a: 8 } } }),
  merge(`${P}/a`, { spec: { r: { b: 1 } } }),
  merge(`${P}/a`, {
    spec: {
      l: [
        { k: '1', v: 'long' },
        { k: '2', v: 'bad' },
        { k: '3', v: 'ok' },
      ],
    },
  }),
  merge(`${P}/a`, {
    spec: {
      l: [
        { k: '1', v: 'longer' },
        { k: '2', v: 'bad' },
      ],
    },
  }),
  merge(`${P}/a`, { spec: { al: [{ k: 'zz' }, { k: 'y' }] } }),
  merge(`${P}/a`, { spec: { t: 4 } }),
  merge(`${P}/a`, { spec: { t: 6 } }),
  merge(`${P}/a`, { spec: { c: null } }),
  merge(`${P}/a/status`, { status: { q: 1 } }),
  merge(`${P}/a/status`, { status: { list: ['two', 'one'] } }),
  merge(`${P}/a/status`, { status: { p: 'A', list: ['one'] } }),
  merge(`${P}/a/status`, { status: { p: 'Q' } }),
  merge(`${P}/b`, { spec: { t: 4 } }),
  merge(`${P}/b`, { spec: { t: 6, x: 'no' } }),
  merge(`${P}/b`, { metadata: { labels: { a: 'b' } } }),
  {
    method: 'POST',
    path: crds,
    body: {
      ...crd(false, 'bars'),
      spec: {
        ...crd(false, 'bars').spec,
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: o({
                spec: o({
                  a: {
                    type: 'integer',
                    'x-kubernetes-validations': [{ rule: 'oldSelf.hasValue() || self > 1', optionalOldSelf: true }],
                  },
                }),
              }),
            },
          },
        ],
      },
    },
  },
];

/** What was legal under an older schema, and is not any more, in each era of servers whose binary is the newest. */
export const RATCHETING: readonly Conversation[] = [
  { name: 'a narrowed schema, with ratcheting everywhere', era: 'E2', lines },
  { name: 'a narrowed schema, without ratcheting', era: 'E0', lines },
];
