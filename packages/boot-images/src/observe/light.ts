import type { Machine, MachineSet } from '@drydock/api';
import { object } from './json.ts';

/** In place of what a providerSpec said that is too large to be kept. Never written anywhere. */
export const TOO_LARGE = 'drydock.dev/too-large';

/** Most that the spec of a set, or another part of an object, may weigh to be kept: ten times what any platform has. About bytes. */
export const LARGEST_PART: number = 64 << 10;
/** Deeper nesting is nobody's spec. */
const DEEPEST = 64;
/** What a field or an item weighs besides its text. */
const FIELD = 16;
/** Longest reference that can name anything. */
const LONGEST = 2048;

/**
 * A set as it is kept: as it is, unless a part of it is so large that a few dozen of them would take the memory of the process. Of such a spec the reference to its template is left,
 * because that has to stay, and {@link TOO_LARGE}, so that it is told at the set.
 */
export function lightMachineSet(set: MachineSet): MachineSet {
  const { apiVersion, kind, metadata, spec, status } = set as MachineSet & Readonly<Record<string, unknown>>;
  const heavyStatus = isHeavy(status);
  const heavySpec = isHeavy(spec);
  if (!heavyStatus && !heavySpec) return set;
  const { authoritativeAPI } = (spec ?? {}) as Readonly<Record<string, unknown>>;
  const osId = spec?.template?.metadata?.labels?.[OS_ID];
  const light = {
    ...(typeof authoritativeAPI === 'string' ? { authoritativeAPI: short(authoritativeAPI) } : {}),
    template: {
      ...(osId === undefined ? {} : { metadata: { labels: { [OS_ID]: short(osId) ?? '' } } }),
      spec: {
        providerSpec: { value: { ...named(spec?.template?.spec?.providerSpec?.value), [TOO_LARGE]: true } },
      },
    },
  };
  return {
    ...{ apiVersion, kind, metadata },
    ...(spec === undefined ? {} : { spec: heavySpec ? light : spec }),
    ...(heavyStatus || status === undefined ? {} : { status }),
  } as MachineSet;
}

/** A machine as far as it refers to a template. */
export function lightMachine(machine: Machine): Machine {
  const { apiVersion, kind, metadata, spec, status } = machine as Machine & Readonly<Record<string, unknown>>;
  const { name, namespace, uid, resourceVersion } = metadata;
  const kept = { name, namespace, uid, resourceVersion };
  const providerID = short(spec?.providerID);
  const phase = short(status?.phase);
  return {
    ...{ apiVersion, kind, metadata: kept },
    spec: {
      ...(providerID === undefined ? {} : { providerID }),
      providerSpec: { value: named(spec?.providerSpec?.value) },
    },
    ...(phase === undefined ? {} : { status: { phase } }),
  } as Machine;
}

const OS_ID = 'machine.openshift.io/os-id';

function named(value: unknown): Readonly<Record<string, unknown>> {
  const template = short(object(value)['template']);
  return template === undefined ? {} : { template };
}

function short(text: unknown): string | undefined {
  return typeof text === 'string' && text.length <= LONGEST ? text : undefined;
}

/** Whether a part weighs too much; it is looked at no further than that. */
function isHeavy(part: unknown): boolean {
  let left = LARGEST_PART;
  const weigh = (value: unknown, depth: number): void => {
    left -= FIELD;
    if (typeof value === 'string') left -= value.length;
    if (typeof value !== 'object' || value === null) return;
    if (depth > DEEPEST) left = -1;
    // Not `Object.entries`: of a map of megabytes it would make a list first.
    for (const key in value) {
      if (left < 0) return;
      left -= key.length;
      weigh((value as Readonly<Record<string, unknown>>)[key], depth + 1);
    }
  };
  weigh(part, 0);
  return left < 0;
}
