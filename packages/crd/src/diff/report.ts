import { FINDING_CLASSES, type Finding } from './finding.ts';
import { type WayVerdict, wayOf } from './verdict.ts';

/** Findings that say the same of several objects. */
export interface FindingGroup extends Omit<Finding, 'object' | 'path' | 'sample' | 'resourceVersion'> {
  /** `CLASS:crd:path`: what `--ack` takes. */
  readonly id: string;
  /** With `[]` for every index. */
  readonly path: string;
  readonly count: number;
  /** Different objects. */
  readonly objects: number;
  /** One of them. */
  readonly example: Finding;
  /** A person accepted it. */
  readonly acknowledged: boolean;
}

/** The answer of a preflight. */
export interface Report {
  readonly verdict: WayVerdict;
  /** Worst first. */
  readonly groups: readonly FindingGroup[];
}

/** Gathers findings by class, kind and place. Its size follows the number of places, not that of objects; of one kind no more than {@link MOST_PLACES} are told apart, as keys of maps are places too. */
export interface ReportBuilder {
  add(findings: readonly Finding[]): void;
  /** `acks` are ids, or beginnings of ids up to a colon. A definition that the server refuses cannot be accepted. */
  build(acks?: readonly string[]): Report;
}

type Open = Finding & { -readonly [K in keyof FindingGroup]: FindingGroup[K] } & { last: string };

/** Places of one class and kind; all beyond are one more, `…`. */
const MOST_PLACES = 1_000;

/** An index, or a quoted key, which may look like one. */
const INDEX = /"(?:[^"\\]|\\.)*"|\[\d+\]/g;

/** An empty report. */
export function createReport(): ReportBuilder {
  const groups = new Map<string, Open>();
  const places = new Map<string, number>();
  return {
    add: (findings) => {
      for (const finding of findings) {
        const kind = `${finding.class}:${finding.crd}`;
        let path = finding.path.replaceAll(INDEX, (text) => (text.startsWith('[') ? '[]' : text));
        let key = `${kind} ${path} ${finding.version} ${finding.rule} ${finding.blocking} ${finding.what}`;
        let known = groups.get(key);
        const others = known === undefined ? (places.get(kind) ?? 0) : 0;
        if (others >= MOST_PLACES) {
          path = '…';
          key = `${kind} … ${finding.blocking}`;
          known = groups.get(key);
        }
        const id = `${kind}${path === '' ? '' : `:${path}`}`;
        if (known === undefined) {
          places.set(kind, others + 1);
          groups.set(key, {
            ...finding,
            ...(path === '…' ? { what: 'and in more places than are told apart' } : {}),
            id,
            path,
            count: 1,
            objects: 1,
            example: finding,
            acknowledged: false,
            last: finding.object,
          });
          continue;
        }
        known.count += 1;
        if (known.last !== finding.object) known.objects += 1;
        known.last = finding.object;
      }
    },
    build: (acks = []) => {
      const all = [...groups.values()].map(
        ({ last: _last, object: _object, sample: _sample, resourceVersion: _version, ...group }): FindingGroup => ({
          ...group,
          acknowledged:
            group.class !== 'CRD_REJECTED' && acks.some((ack) => group.id === ack || group.id.startsWith(`${ack}:`)),
        }),
      );
      const open = all.filter(({ acknowledged }) => !acknowledged);
      const verdict = wayOf(
        open.map((group) => (group.blocking ? 'stops' : group.class === 'UNDECIDED' ? 'doubt' : 'none')),
      );
      return { verdict, groups: all.toSorted(byWeight) };
    },
  };
}

function byWeight(a: FindingGroup, b: FindingGroup): number {
  if (a.blocking !== b.blocking) return a.blocking ? -1 : 1;
  const weight = FINDING_CLASSES.indexOf(a.class) - FINDING_CLASSES.indexOf(b.class);
  return weight !== 0 ? weight : a.id < b.id ? -1 : 1;
}
