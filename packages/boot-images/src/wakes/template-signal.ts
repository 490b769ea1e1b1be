import type { MachineSet } from '@drydock/api';
import type { Key, Source } from '@drydock/kube';
import { at, nonEmpty, object } from '../observe/json.ts';
import { idOf, specOf } from '../observe/kept-set.ts';
import { leafName } from '../vsphere/names.ts';
import type { Causes } from './causes.ts';

/** What somebody else did to a template, or may have done. */
export interface TemplateChange {
  /**
   * One word: destroyed, renamed, moved, converted (into a machine, or back), created, changed. `watched`: nothing happened but that changes are told from now on, so that
   * whoever looked before has to look again.
   */
  readonly kind: string;
  /** The vCenter, by the name that Infrastructure gives it. */
  readonly server: string;
  /** Bare name, the former one after a rename; absent where it is not known: then it may be any. */
  readonly name?: string;
  /** The new name after a rename. */
  readonly to?: string;
}

/** Tells of changes of templates that did not come from here. It may tell too much and too often, never too little: a pass looks for itself. */
export interface TemplateSignal {
  subscribe(on: (change: TemplateChange) => void): Disposable;
}

/** What a change of a template is for the sets that refer to it. */
export interface TemplateSourceOptions {
  readonly key: Key;
  readonly causes: Pick<Causes, 'note'>;
  readonly machineSets: () => Iterable<MachineSet>;
  /** Told of each set that refers to the template. */
  readonly onSet: (set: MachineSet, note: string) => void;
}

/** Wakes a pass at each change; the sets that refer to the template are touched. */
export function templateSource(signal: TemplateSignal, options: TemplateSourceOptions): Source {
  const { key, causes, machineSets, onSet } = options;
  return {
    synced: Promise.resolve(),
    start: (enqueue) =>
      signal.subscribe((change) => {
        if (change.kind === 'watched') {
          enqueue(key, false);
          return;
        }
        const touched = [...machineSets()].filter((set) => refersTo(set, change));
        for (const set of touched) onSet(set, noteOf(change));
        causes.note('TemplateChanged', new Set(touched.map(idOf)));
        enqueue(key, false);
      }),
  };
}

function refersTo(set: MachineSet, { server, name, to }: TemplateChange): boolean {
  const spec = object(specOf(set));
  if (at(spec, ['workspace', 'server']) !== server) return false;
  if (name === undefined) return true;
  const leaf = leafName(nonEmpty(spec['template']) ?? '');
  return leaf === name || leaf === to;
}

function noteOf({ kind, server, name, to }: TemplateChange): string {
  const which = name === undefined ? 'a template' : `template ${name}`;
  switch (kind) {
    case 'destroyed':
      return `${which} was destroyed on ${server}`;
    case 'renamed':
      return `${which} was renamed to ${to ?? 'another name'} on ${server}`;
    case 'moved':
      return `${which} was moved to another folder on ${server}`;
    case 'converted':
      return `${which} was turned into a machine, or back, on ${server}`;
    default:
      return `${which} changed on ${server}`;
  }
}
