import { createHash } from 'node:crypto';
import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';

/** Most characters that the value of a custom attribute may have: a vCenter refuses more, or cuts it off and says nothing. */
export const ATTRIBUTE_LIMIT = 255;

/** What a machine's attribute says. `torn`: something is there that is not whole, or that nobody of us wrote. */
export type AttributeReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'torn' }
  | { readonly kind: 'value'; readonly value: unknown };

/**
 * A JSON value as values of custom attributes, by name, each within {@link ATTRIBUTE_LIMIT}: in one piece under `name` where that suffices, else in pieces
 * under `name`, `name.2`, `name.3` and so on. Each piece says which it is and the check sum of the whole, so that pieces of two values never make a third.
 * ASCII alone: whoever counts bytes instead of characters counts the same.
 */
export function attributeParts(name: string, value: unknown): readonly (readonly [name: string, text: string])[] {
  const text = ascii(JSON.stringify(value));
  if (text.length <= ATTRIBUTE_LIMIT) return [[name, text]];
  const sum = sumOf(text);
  const room = ATTRIBUTE_LIMIT - `99/99 ${sum} `.length;
  const count = Math.ceil(text.length / room);
  return Array.from({ length: count }, (_, at) => [
    at === 0 ? name : `${name}.${at + 1}`,
    `${at + 1}/${count} ${sum} ${text.slice(at * room, (at + 1) * room)}`,
  ]);
}

/** What {@link attributeParts} made, read from a machine's custom values. A value that an earlier version wrote in one longer piece is read as well. */
export function readAttribute(values: ReadonlyMap<string, string>, name: string): AttributeReading {
  const first = values.get(name) ?? '';
  if (first === '') return { kind: 'absent' };
  const head = pieceOf(first);
  if (head === undefined) return parsed(first);
  const pieces = Array.from({ length: head.count }, (_, at) =>
    pieceOf(at === 0 ? first : (values.get(`${name}.${at + 1}`) ?? '')),
  );
  const fits = pieces.every(
    (piece, at) => piece?.at === at + 1 && piece.count === head.count && piece.sum === head.sum,
  );
  const text = pieces.map((piece) => piece?.text ?? '').join('');
  return fits && sumOf(text) === head.sum ? parsed(text) : { kind: 'torn' };
}

/**
 * Sets an attribute of a machine and looks whether vCenter kept all of it. The first piece goes last: until then readers see the value before, or none.
 * Fails with `ATTRIBUTE_CUT` where a piece was cut off or dropped; resolves to the machine as it is then, or undefined where it is gone.
 */
export async function writeAttribute(
  vcenter: Pick<VCenter, 'setCustomValue' | 'vm'>,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  attribute: string,
  value: unknown,
  call: CallOptions,
): Promise<VmSummary | undefined> {
  const parts = attributeParts(attribute, value);
  for (const [part, text] of parts.toReversed()) await vcenter.setCustomValue(ref, part, text, call);
  const seen = await vcenter.vm(ref, call);
  for (const [part, text] of parts) {
    const kept = seen?.customValues.get(part) ?? '';
    // Another value is another writer's: what it means is found out by the next look.
    if (seen === undefined || kept === text || !text.startsWith(kept)) continue;
    const message = `failed to mark the template: vCenter kept ${kept.length} of ${text.length} characters of the attribute ${part} of ${name}`;
    throw new TemplateError({ code: 'ATTRIBUTE_CUT', message });
  }
  return seen;
}

interface Piece {
  readonly at: number;
  readonly count: number;
  readonly sum: string;
  readonly text: string;
}

function pieceOf(text: string): Piece | undefined {
  const [whole, at, count, sum = ''] = /^([1-9]\d?)\/([1-9]\d?) ([0-9a-f]{8}) /.exec(text) ?? [];
  return whole === undefined
    ? undefined
    : { at: Number(at), count: Number(count), sum, text: text.slice(whole.length) };
}

function parsed(text: string): AttributeReading {
  try {
    return { kind: 'value', value: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'torn' };
  }
}

/** Outside of strings JSON is ASCII already, and within them this is an escape. */
function ascii(json: string): string {
  return json.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
