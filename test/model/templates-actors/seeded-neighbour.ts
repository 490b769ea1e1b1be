import { BIRTH_KEY, CONTENT_KEY, OWNERSHIP, retiredName } from '@drydock/templates';
import { refKey } from '@drydock/vsphere/testing';
import { fingerprintOf } from '../../../packages/templates/src/fingerprint.ts';
import { identityKey, identityOf } from '../../../packages/templates/src/mark/identity.ts';
import { FOLDER, NAME, type World } from '../templates-world.ts';
import { cloneMarked } from './cloner.ts';
import { ownedIn, type Stored, theirs } from './replayer.ts';

/** Names that a neighbour gives to templates that are not theirs begin so. */
export const BY_HAND = 'renamed by hand';

/**
 * Another vCenter user without the key, who remembers every byte that could ever be read of a template or of an unfinished import, and whose deeds follow from a seed. They create VMs and templates,
 * choose names, instance UUIDs, texts and disks, set attributes on any VM, and rename. vCenter alone chooses morefs and creation dates.
 */
export interface SeededNeighbour {
  /** Reads all that can be read now. */
  look(): void;
  /** Does one thing; returns what, for the history. */
  act(): string;
  /** Refs of what they made. */
  readonly made: ReadonlySet<string>;
}

/** `forgesIdentity`: they choose morefs and creation dates, too, so that nothing tells a copy from what it was copied from. */
export function seededNeighbour(world: World, next: () => number, forgesIdentity = false): SeededNeighbour {
  const { state } = world.inventory;
  /** Each form that one of ours ever had, by ref and text. */
  const forms = new Map<string, Stored>();
  const made = new Set<string>();
  const pick = <T>(among: readonly T[]): T | undefined => among[Math.floor(next() * among.length)];
  const own = (): readonly Stored[] => [...made].flatMap((ref) => state.machines.get(ref) ?? []);
  const folder = refKey(world.inventory.at(FOLDER));
  const stored = (): readonly Stored[] =>
    [...state.machines.values()].filter((one) => one.folder === folder && !world.foreign.has(refKey(one.ref)));
  const isFree = (name: string): boolean =>
    ![...state.machines.values()].some((one) => one.folder === folder && one.name === name);
  const keep = (ref: string): void => {
    made.add(ref);
    const now = world.inventory.snapshot().machines.find((machine) => machine.ref === ref);
    world.foreign.set(ref, JSON.stringify(now));
  };
  const look = (): void => {
    for (const one of stored()) {
      const { ref, name, changes, customValues, isTemplate } = one;
      const key = JSON.stringify([refKey(ref), name, changes, isTemplate, [...customValues]]);
      if (forms.has(key)) continue;
      forms.set(key, { ...one, extraConfig: new Map(one.extraConfig), customValues: new Map(customValues) });
    }
  };
  /** Names that follow from public formulas, or were seen. */
  const names = (uuid: string): readonly string[] => [
    ...new Set([...forms.values()].map(({ name }) => name)),
    retiredName(NAME, uuid),
  ];

  /** What the formulas make of a copy: a finished import, with a record about this very VM, but for its code. */
  const finish = (one: Stored, code: string | undefined): void => {
    const is = fingerprintOf(one);
    one.extraConfig.set(CONTENT_KEY, is);
    const identity = identityOf(state.instanceUuid, one);
    const id = identity === undefined ? '' : identityKey(identity).slice(0, 12);
    set(one, OWNERSHIP, JSON.stringify({ id, kind: 'imported', is, ...(code === undefined ? {} : { code }) }));
  };
  const set = ({ customValues }: Stored, field: string, text: string): void => {
    if (!state.customFields.includes(field)) state.customFields.push(field);
    customValues.set(state.customFields.indexOf(field), text);
  };

  const copy = (): string => {
    const all = [...forms.values()];
    const gone = all.filter(({ ref }) => !state.machines.has(refKey(ref)));
    const victim = next() < 0.9 ? pick([...new Set(gone.map(({ ref }) => refKey(ref)))]) : undefined;
    const ofVictim = gone.filter(({ ref }) => refKey(ref) === victim);
    // As it was last, or at any moment before.
    const form = (next() < 0.7 ? ofVictim.at(-1) : pick(ofVictim)) ?? pick(all);
    if (form === undefined) return 'finds nothing to copy';
    const { ref, createDate, instanceUuid, name } = form;
    const isTaken = [...state.machines.values()].some((one) => one.instanceUuid === instanceUuid);
    const isTemplate = next() < 0.7;
    const isReplay = !isTaken && isFree(name);
    const replayed = theirs(world, form, {
      name: isFree(name) ? name : `copy ${state.next}${/-9\.\d-[0-9a-f]{8}$/.exec(name)?.[0] ?? ''}`,
      isTemplate,
      // vCenter gives a new one to the second of two VMs.
      ...(isTaken ? {} : { instanceUuid }),
      ...(forgesIdentity && gone.includes(form) ? { ref, createDate } : {}),
    });
    const one = state.machines.get(refKey(replayed));
    const isFinished = next() < 0.5;
    if (one !== undefined && isFinished && !forgesIdentity) finish(one, codeOf(pick([form, ...all]) ?? form));
    keep(refKey(replayed));
    const how = `${isTemplate ? 'a template' : 'a machine'}${isFinished ? ', called finished' : ''}`;
    return `${isReplay ? 'replays' : 'copies'} ${refKey(ref)} (${name}) to ${refKey(replayed)} (${one?.name}) as ${how}`;
  };

  const writeBack = (): string => {
    const one = pick(stored());
    const field = pick([...(one?.customValues.keys() ?? [])]);
    if (one === undefined || field === undefined) return 'finds no attribute';
    const texts = [...forms.values()].flatMap(({ customValues }) => customValues.get(field) ?? []);
    const text = pick(['', undefined, ...texts]);
    if (text === undefined) one.customValues.delete(field);
    else one.customValues.set(field, text);
    return `writes ${JSON.stringify(text)} to ${state.customFields[field]} of ${refKey(one.ref)}`;
  };

  const rename = (one: Stored | undefined, name: string): string => {
    if (one === undefined || !isFree(name)) return 'renames nothing';
    const before = one.name;
    one.name = name;
    if (made.has(refKey(one.ref))) keep(refKey(one.ref));
    return `renames ${refKey(one.ref)} from ${before} to ${name}`;
  };

  const convert = (): string => {
    const one = pick(own());
    if (one === undefined) return 'converts nothing';
    one.isTemplate = !one.isTemplate;
    one.changes += 1;
    keep(refKey(one.ref));
    return `makes ${refKey(one.ref)} a ${one.isTemplate ? 'template' : 'machine'}`;
  };

  const clone = (): string => {
    const source = pick(ownedIn(world).filter(({ isTemplate }) => isTemplate));
    if (source === undefined) return 'clones nothing';
    const isTemplate = next() < 0.5;
    const ref = refKey(cloneMarked(world, source, isTemplate));
    keep(ref);
    return `clones ${source.ref} to ${ref}, ${isTemplate ? 'a template' : 'a machine'}`;
  };

  return {
    look,
    made,
    act: () => {
      look();
      const deed = next();
      if (deed < 0.4) return copy();
      if (deed < 0.65) return writeBack();
      if (deed < 0.8) {
        const one = pick(own());
        return rename(one, pick(names(one?.instanceUuid ?? '')) ?? NAME);
      }
      if (deed < 0.85) return rename(pick(stored()), `${BY_HAND} ${state.next}`);
      return deed < 0.93 ? convert() : clone();
    },
  };
}

/** A code that can be read: of the birth mark, or of the ownership record. */
function codeOf({ extraConfig, customValues }: Stored): string | undefined {
  const texts = [extraConfig.get(BIRTH_KEY), ...customValues.values()];
  return texts.flatMap((text) => /"code":"([^"]+)"/.exec(text ?? '')?.[1] ?? []).at(-1);
}
