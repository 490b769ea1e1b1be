import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../command.ts';

/** Where codes and what to do about each stand in the sources, and where a person meets them. */
const CATALOGUES: readonly (readonly [title: string, about: string, file: string])[] = [
  [
    'vCenter: the policy',
    '`drydock template`, and boot images on vSphere; a BootImage has the code as its reason in CamelCase (`NoSpace`)',
    'packages/templates/src/errors.ts',
  ],
  ['vCenter: the protocol', 'everything that talks to a vCenter', 'packages/vsphere/src/errors.ts'],
  ['API server', 'everything that talks to a cluster', 'packages/kube/src/errors.ts'],
  ['The process', '`drydock operator`, when it ends', 'packages/kube/src/manager/run-error.ts'],
  ['VM watch', '`drydock watch`, and the watch role', 'packages/vm-watch/src/errors.ts'],
  ['Definitions', '`drydock crd`', 'packages/crd/src/errors.ts'],
  ['Releases', '`drydock release`, and Payloads', 'packages/release/src/errors.ts'],
  [
    'Applying a release',
    'Payloads and ClusterVersion: the reason of their conditions',
    'packages/release/src/apply/apply-error.ts',
  ],
  ['Files', '`@drydock/durable`, and everything that stands on it', 'packages/durable/src/errors.ts'],
  ['Static pods', '`drydock node`', 'packages/static-pods/src/errors.ts'],
];

/** A code with what a person does next, as the sources say it. */
export interface Advice {
  readonly code: string;
  readonly next: string;
}

/** The advice of a file of errors: the entries of its `NEXT`. */
export function adviceIn(file: string): readonly Advice[] {
  const source = readFileSync(join(root, file), 'utf8');
  const [, body = ''] = /^const NEXT\b[^=]*= \{\n([\s\S]*?)^\}/m.exec(source) ?? [];
  return [...body.matchAll(/^ {2}(\w+):\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"),$/gm)].map(
    ([, code = '', literal = '']) => ({
      code,
      next: literal.slice(1, -1).replaceAll(/\\(.)/g, '$1'),
    }),
  );
}

/** The page of all codes, as Markdown. */
export function messages(): string {
  const parts = CATALOGUES.map(([title, about, file]) => {
    const rows = adviceIn(file).map(
      ({ code, next }) => `| \`${code}\` | ${next.replaceAll('|', '\\|').replaceAll('<', '\\<')} |`,
    );
    if (rows.length === 0) throw new Error(`${file} has no NEXT with advice; correct scripts/book/messages.ts`);
    return `## ${title}\n\nFrom ${about}.\n\n| code | what to do |\n| --- | --- |\n${rows.join('\n')}\n`;
  });
  return `<!-- Written by npm run generate from the errors of the packages. Do not edit. -->

# Messages by their code

Each error has a code that stays, says what was being done to which object, and ends with what to do next: the second column. Logs and \`-o json\` have the code; \`DRYDOCK_DEBUG=1\` shows it with the causes on a terminal. What a machine
set is told, and what to do about the commonest, is in [troubleshooting](troubleshooting.md).

${parts.join('\n')}`;
}
