import type { Finding } from '@drydock/crd';
import type { KubeObject } from '@drydock/kube';

/** A page of a kind's objects, of the first pass over them or of the second. */
export interface Look {
  readonly items: readonly KubeObject[];
  readonly pass: 1 | 2;
}

/** Tells the verdicts about the objects of one kind, each object once. */
export interface Verdicts {
  /** Verdicts that can be told by now. */
  of(look: Look): readonly Finding[];
  /** Verdicts that were kept back; `failed`: the list broke off. */
  rest(failed: boolean): readonly Finding[];
  /** Objects judged so far. */
  readonly objects: () => number;
}

/**
 * With a second pass (`again`) a verdict is kept until that pass has seen the object: one that changed meanwhile is judged as it is now, one that is gone no longer counts. Without, or where a list starts again because it
 * expired, the first verdict about an object stands. Of objects only names and versions are kept.
 */
export function verdicts(judge: (object: KubeObject) => readonly Finding[], again: boolean): Verdicts {
  const told = new Set<string>();
  const held = new Map<string, { readonly version: string | undefined; readonly findings: readonly Finding[] }>();
  let last: Look['pass'] = 1;
  return {
    of: ({ items, pass }) => {
      last = pass;
      const findings: Finding[] = [];
      for (const object of items) {
        const { name, namespace = '', resourceVersion: version, uid = `${namespace}/${name}` } = object.metadata;
        if (told.has(uid)) continue;
        const known = held.get(uid);
        const own = known !== undefined && known.version === version ? known.findings : judge(object);
        if (again && pass === 1) held.set(uid, { version, findings: own });
        else {
          held.delete(uid);
          told.add(uid);
          findings.push(...own);
        }
      }
      return findings;
    },
    rest: (failed) => {
      // What a whole second pass has not seen is gone.
      const left = last === 2 && !failed ? [] : [...held];
      held.clear();
      for (const [uid] of left) told.add(uid);
      return left.flatMap(([, { findings }]) => findings);
    },
    objects: () => told.size + held.size,
  };
}
