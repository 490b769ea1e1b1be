import { holds } from './markup.ts';

/** Elements whose content a scan keeps. */
export type Field = 'version' | 'truncated' | 'kind' | 'obj' | 'name' | 'op' | 'val' | 'path' | 'fault';

/** An element that a scan enters, with what it looks for inside. Everything else in it is passed over. */
export interface Frame {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly rules: readonly Rule[];
}

/** What to do at a start tag. */
export interface Rule {
  /** Local name, in bytes. */
  readonly bytes: Uint8Array;
  readonly enters?: Frame;
  readonly field?: Field;
}

/** The element that says: this is the answer. */
export const ANSWER = 'WaitForUpdatesExResponse';

function frame(name: string, ...rules: readonly Rule[]): Frame {
  return { name, bytes: Buffer.from(name), rules };
}

function enter(of: Frame): Rule {
  return { bytes: Buffer.from(of.name), enters: of };
}

function fields(...names: readonly Field[]): readonly Rule[] {
  return names.map((field) => ({ bytes: Buffer.from(field), field }));
}

const objectSet = frame(
  'objectSet',
  enter(frame('changeSet', ...fields('name', 'op', 'val'))),
  ...fields('kind', 'obj'),
  enter(frame('missingSet', ...fields('path', 'fault'))),
);
const returnval = frame('returnval', enter(frame('filterSet', enter(objectSet))), ...fields('version', 'truncated'));
const DOCUMENT = frame('', enter(frame('Envelope', enter(frame('Body', enter(frame(ANSWER, enter(returnval))))))));

/** The rule for the element whose local name lies at `from..to`; undefined: pass over it. */
export function ruleFor(open: Frame | undefined, bytes: Uint8Array, from: number, to: number): Rule | undefined {
  for (const rule of (open ?? DOCUMENT).rules) if (holds(bytes, from, to, rule.bytes)) return rule;
  return undefined;
}
