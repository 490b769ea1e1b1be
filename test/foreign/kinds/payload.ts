import assert from 'node:assert/strict';
import { loadPayload, openshiftAudience, type Payload, ReleaseError, select, updateGraph } from '@drydock/release';
import { type Format, growing, type Hostile, nested, pieces } from '../format.ts';

const metadata = '{"kind":"cincinnati-metadata-v0","version":"4.14.0"}';
const images =
  '{"kind":"ImageStream","metadata":{"name":"4.14.0"},"spec":{"tags":[{"name":"cli","from":{"name":"i"}}]}}';

/** A payload with one file among its own manifests, which is a template. */
function payloadOf(text: string): Payload {
  const files = new Map([
    ['release-manifests/release-metadata', metadata],
    ['release-manifests/image-references', images],
    ['manifests/0000_10_a_1.yaml', text],
  ]);
  return loadPayload({ name: 'payload', files });
}

const annotations = 'annotations: {include.release.openshift.io/self-managed-high-availability: "true"}';

/** Manifests of a release, with the templates in them. */
export const payloads: Format<Payload> = {
  name: 'payloads',
  examples: [
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  ${annotations}\n---\n# b\napiVersion: batch/v1\nkind: Job\nmetadata: {name: b}\n`,
    'kind: List\napiVersion: v1\nitems:\n- {kind: Secret, apiVersion: v1, metadata: {name: a, namespace: b}}\n',
    'kind: Pod\napiVersion: v1\nmetadata: {name: "{{.Version}}"}\nspec: {image: {{index .Images "cli"}}}\n',
    '{{- if eq .ClusterProfile "a" "b" }}\nkind: A\n{{- else if (not .ReleaseImage) }}\nkind: B\n{{ else }}kind: C\n{{ end -}}\napiVersion: g/v1\nmetadata: {name: a}\n',
  ],
  pieces: [
    '---\n',
    '{{',
    '}}',
    '{{end}}',
    '{{if .Version}}',
    '{{else}}',
    '.Version',
    ' -',
    '- ',
    '"',
    '`',
    '(',
    ')',
    ': ',
    '\n',
    'kind: ',
    '&a ',
    '*a',
    '#',
  ],
  nest: ['{{if .Version}}', '{{end}}'],
  read: (bytes) => payloadOf(bytes.toString()),
  refuses: (error) => error instanceof ReleaseError,
  check: ({ manifests }) => {
    assert.equal(updateGraph(manifests).flatMap((node) => node.manifests).length, manifests.length);
    for (const { id, line } of manifests) assert.ok(id.kind !== '' && id.name !== '' && line > 0);
    try {
      const { included, excluded } = select(manifests, { audience: openshiftAudience });
      assert.equal(included.length + excluded.length, manifests.length);
    } catch (error) {
      assert.ok(error instanceof ReleaseError);
    }
  },
};

const object = (n: string): string => `kind: A\napiVersion: v1\nmetadata: {name: "${n}"}\n`;

export const payloadGrowth: readonly Hostile[] = growing(
  'a payload',
  {
    documents: (size) => pieces(size, object, '---\n'),
    marks: (size) => '---\n'.repeat(size / 4),
    conditions: (size) => pieces(size, () => '{{if .Version}}a{{end}}'),
    'conditions in conditions': (size) => nested(size, '{{if .Version}}', '', '{{end}}'),
    'open braces': (size) => '{{'.repeat(size / 2),
    'a long action': (size) => `{{and ${'.Version '.repeat(size / 9)}}}`,
    'brackets in an action': (size) => `{{not ${nested(size, '(not ', '.Version', ')')}}}`,
    'blanks in an action': (size) => `{{ ${' '.repeat(size)}x}}`,
    'blanks before an action': (size) => `a${' \n'.repeat(size / 2)}{{- .Version -}}${' \n'.repeat(size / 2)}`,
    'blanks often': (size) => `${'a  \n  {{- .Version -}}  \n'.repeat(size / 24)}`,
    'quotes in an action': (size) => `{{${'"'.repeat(size)}}}`,
  },
  { limit: 2 ** 20, read: payloadOf },
);
