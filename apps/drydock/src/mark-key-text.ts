import {
  changedKeys,
  changedKeyText,
  keyIdOf,
  type ListedKey,
  type ListedTemplate,
  listKeys,
  type MarkKeys,
} from '@drydock/templates';
import type { CheckLine } from './template/check-line.ts';

const CHECK = 'mark key';

/** A key for people: its id, and the names of its entries. */
export function keyText({ id, names }: Pick<ListedKey, 'id' | 'names'>): string {
  return names.length === 0 ? id : `${id} (${names.join(', ')})`;
}

/** A name for one more key, which no key has: to call it as another would put it in that one's place. */
export function freeKeyName(keys: MarkKeys): string {
  const taken = new Set(listKeys(keys).flatMap(({ names }) => names));
  for (let number = 2; ; number += 1) if (!taken.has(`key-${number}`)) return `key-${number}`;
}

/** Which key signs new codes, and which others still count. */
export function signingText(keys: MarkKeys): string {
  const [signing, ...older] = listKeys(keys);
  if (signing?.current !== true) return 'no key signs new codes';
  const more =
    older.length === 0 ? '' : `; ${older.map(keyText).join(', ')} still ${older.length === 1 ? 'counts' : 'count'}`;
  return `${keyText(signing)} signs new codes${more}`;
}

/**
 * What the codes of templates say of the keys: codes under earlier ids, older keys that are still needed, keys that were changed under their names, and codes of keys that are
 * gone. `signer` says who signs again, and when.
 */
export function codeLines(templates: readonly ListedTemplate[], keys: MarkKeys, signer: string): readonly CheckLine[] {
  const { current, known } = keys;
  if (current === undefined) return [];
  const listed = listKeys(keys);
  const behind = templates.filter(
    ({ proof, keyIds = [] }) => proof === 'keyed' && keyIds.length > 0 && !keyIds.includes(current.id),
  );
  /** The key of a code's id; an earlier id may be a name that no key has any more. */
  const keyOf = (id: string): ListedKey | undefined => {
    const key = known.get(id);
    return key && listed.find((one) => one.id === keyIdOf(key));
  };
  const renamed: ListedTemplate[] = [];
  const needed = new Map<string, ListedTemplate[]>();
  for (const template of behind) {
    const by = (template.keyIds ?? []).map((id) => keyOf(id));
    if (by.some((key) => key?.current === true)) renamed.push(template);
    else {
      const key = by.find((one) => one !== undefined);
      const text = key === undefined ? (template.keyIds ?? []).join(', ') : keyText(key);
      needed.set(text, [...(needed.get(text) ?? []), template]);
    }
  }
  const lines: CheckLine[] = [];
  const say = (state: CheckLine['state'], detail: string, next?: string): void => {
    lines.push({ name: CHECK, state, detail, ...(next === undefined ? {} : { next }) });
  };
  for (const [key, bearers] of needed)
    say(
      'warn',
      `${count(bearers, 'still needs', 'still need')} ${key}: keep that key until it is needed no more; ${signer}`,
    );
  if (renamed.length > 0)
    say(
      'ok',
      `${count(renamed, 'has its code', 'have their codes')} under ${idsOf(renamed)}, an earlier id of ${current.id}, which counts; ${signer}`,
    );
  const older = listed.filter((key) => !key.current && ![...needed.keys()].includes(keyText(key)));
  const certain = [...needed.keys()].every((text) => listed.some((key) => keyText(key) === text));
  if (older.length > 0 && certain) say('ok', `no template here needs ${older.map(keyText).join(', ')} any more`);
  const changed = changedKeys(keys, templates);
  for (const [key, names] of changed)
    say(
      'warn',
      `${changedKeyText(key, names)}. Add the earlier key under another name; if it is lost, adopt what you know to be right`,
      'drydock template list -o wide',
    );
  const told = new Set([...changed.values()].flat());
  const gone = templates.filter(
    ({ name, role, keyIds = [] }) => role === 'unproven' && keyIds.length > 0 && !told.has(name),
  );
  if (gone.length > 0)
    say(
      'warn',
      `${count(gone, 'has a code', 'have codes')} under ${idsOf(gone)}, made with a key that is gone or is not known here, or forged: adopt what you know to be right`,
      'drydock template list -o wide',
    );
  return lines;
}

function count({ length }: readonly unknown[], one: string, many: string): string {
  return length === 1 ? `1 template ${one}` : `${length} templates ${many}`;
}

function idsOf(templates: readonly ListedTemplate[]): string {
  return [...new Set(templates.flatMap(({ keyIds = [] }) => keyIds))].join(', ');
}
