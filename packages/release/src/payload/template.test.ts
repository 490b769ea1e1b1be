import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderTemplate } from './template.ts';

const values = {
  fields: { ReleaseImage: 'registry.example.com/release@sha256:1', ClusterProfile: 'single-node', Empty: '' },
  images: new Map([['cli', 'registry.example.com/cli@sha256:2']]),
};
const render = (text: string): string => renderTemplate('manifests/a.yaml', text, values);

test('fields, images, conditions, comments and trimmed spaces', () => {
  const table: readonly (readonly [template: string, text: string])[] = [
    ['image: {{.ReleaseImage}}', 'image: registry.example.com/release@sha256:1'],
    ['{{index .Images "cli"}}', 'registry.example.com/cli@sha256:2'],
    ['a {{- /* nothing */ -}} b', 'ab'],
    ['{{if eq .ClusterProfile "single-node"}}one{{else}}three{{end}}', 'one'],
    ['{{if ne .ClusterProfile "single-node"}}three{{else}}one{{end}}', 'one'],
    ['{{if .Empty}}a{{else if eq .ClusterProfile "x" "single-node"}}b{{else}}c{{end}}', 'b'],
    ['{{if and .ReleaseImage (not .Empty)}}yes{{end}}', 'yes'],
    ['{{if or .Empty (eq .Empty "x")}}yes{{end}}no', 'no'],
    ['{{if .Empty}}{{if .ReleaseImage}}no{{end}}{{end}}yes', 'yes'],
    ['{{ "quoted \\" text" }} {{ `raw` }}', 'quoted " text raw'],
    ['x\n{{- if .Empty }}\ny\n{{- end }}\nz', 'x\nz'],
  ];
  for (const [template, text] of table) assert.equal(render(template), text, template);
});

test('what cannot be rendered is refused with its line', () => {
  const table: readonly (readonly [template: string, error: RegExp])[] = [
    ['a\n{{.Missing}}', /^manifests\/a\.yaml:2: \{\{\.Missing\}\} has no value here\. Correct the template/],
    ['{{index .Images "nobody"}}', /a\.yaml:1: .* has no value here/],
    ['{{range .Images}}{{end}}', /\{\{range \.Images\}\} has no value here/],
    ['{{if .ReleaseImage}}a', /an if without its end/],
    ['a{{end}}', /\{\{end\}\} without an if/],
    ['a\n\n{{.ReleaseImage', /a\.yaml:3: \{\{ without its \}\}/],
    ['{{if .Missing}}a{{end}}', /\{\{if \.Missing\}\} cannot be told/],
    ['{{.constructor}}', /has no value here/],
    ['{{constructor .Empty}}', /has no value here/],
    ['{{eq .Empty}}', /has no value here/],
    ['{{if .Empty}}'.repeat(30), /more than 20 deep/],
  ];
  for (const [template, error] of table)
    assert.throws(() => render(template), { name: 'ReleaseError', message: error }, template);
});
