import { holds } from './markup.ts';

/** Elements whose content a scan keeps. */
export type Field = 'version' | 'truncated' | 'kind' | 'obj' | 'name' | 'op' | 'val' | 'path' | 'fault';

/** A bit for each field, by which a scan knows what it has met. */
export const FIELD_BITS: Readonly<Record<Field, number>> = {
  version: 1,
  truncated: 2,
  kind: 4,
  obj: 8,
  name: 16,
  op: 32,
  val: 64,
  path: 128,
  fault: 256,
};
/** Fields of an `objectSet`, and of what is inside it. */
export const OF_OBJECT: number = FIELD_BITS.kind | FIELD_BITS.obj;
export const OF_CHANGE: number = FIELD_BITS.name | FIELD_BITS.op | FIELD_BITS.val | FIELD_BITS.path | FIELD_BITS.fault;

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
