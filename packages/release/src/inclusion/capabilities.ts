import type { Manifest } from '../payload/manifest.ts';
import { idKey } from '../payload/manifest.ts';

/** What the administrator asks for: `spec.capabilities` of the ClusterVersion. */
export interface CapabilityWish {
  /** A set, as `None`, `v4.14` or `vCurrent`. Default `vCurrent`. */
  readonly baseline?: string;
  readonly additional?: readonly string[];
}

/** Which optional parts of a release are applied. Sorted by bytes, as the status lists them. */
export interface Capabilities {
  readonly known: readonly string[];
  readonly enabled: readonly string[];
  /** Of the enabled ones those for which nobody asked: they were enabled before, or always are, or an object would lose its manager. */
  readonly implicit: readonly string[];
}

/** What each minor version made optional (config.openshift.io/v1, ClusterVersionCapabilitySets). */
const SINCE: Readonly<Record<string, readonly string[]>> = {
  'v4.11': ['baremetal', 'marketplace', 'openshift-samples'],
  'v4.12': ['CSISnapshot', 'Console', 'Insights', 'Storage'],
  'v4.13': ['NodeTuning'],
  'v4.14': ['Build', 'DeploymentConfig', 'ImageRegistry', 'MachineAPI'],
  'v4.15': ['CloudCredential', 'OperatorLifecycleManager'],
  'v4.16': ['CloudControllerManager', 'Ingress'],
  'v4.17': [],
  'v4.18': ['OperatorLifecycleManagerV1'],
};

const CAPABILITY = 'capability.openshift.io/name';

/** All capabilities that have a name, sorted. */
export const knownCapabilities: readonly string[] = sorted(Object.values(SINCE).flat());

/** What is applied: what the baseline has, what is asked for besides, what was enabled before (a capability is never turned off again), and what always is. */
export function capabilitiesFor(
  wish: CapabilityWish,
  prior: Iterable<string>,
  always: Iterable<string> = [],
): Capabilities {
  const asked = new Set([...baseline(wish.baseline ?? 'vCurrent'), ...(wish.additional ?? [])]);
  return withImplicit({ known: knownCapabilities, enabled: sorted(asked), implicit: [] }, [...prior, ...always]);
}

/** The same with some more for which nobody asked. */
export function withImplicit(capabilities: Capabilities, more: Iterable<string>): Capabilities {
  const added = [...more].filter((name) => !capabilities.enabled.includes(name));
  return {
    known: capabilities.known,
    enabled: sorted([...capabilities.enabled, ...added]),
    implicit: sorted([...capabilities.implicit, ...added]),
  };
}

/** The capabilities that all must be enabled for a manifest. */
export function capabilitiesOf({ annotations }: Manifest): readonly string[] {
  return (annotations[CAPABILITY] ?? '').split('+').filter((name) => name !== '');
}

/** Why a manifest is left out for its capabilities, as a clause; undefined where it is not. */
export function withoutCapability(manifest: Manifest, { known, enabled }: Capabilities): string | undefined {
  for (const name of capabilitiesOf(manifest)) {
    if (!known.includes(name)) return `the capability ${name} is not known`;
    if (!enabled.includes(name)) return `the capability ${name} is not enabled`;
  }
  return undefined;
}

/**
 * What an update enables although nobody asks: an object that the current release manages must not lose its manager because the next one makes it optional.
 * `current` and `next` have what their releases would bring with all capabilities; `enabled` is what the current one has.
 */
export function implicitlyEnabled(
  current: readonly Manifest[],
  next: readonly Manifest[],
  capabilities: Capabilities,
): readonly string[] {
  const managed = new Map(
    current
      .filter((manifest) => withoutCapability(manifest, capabilities) === undefined)
      .map((one) => [idKey(one.id), one]),
  );
  const names = next.flatMap((manifest) => {
    const before = managed.get(idKey(manifest.id));
    if (before === undefined) return [];
    const had = capabilitiesOf(before);
    return capabilitiesOf(manifest).filter((name) => !had.includes(name) && !capabilities.enabled.includes(name));
  });
  return sorted(new Set(names));
}

function baseline(name: string): readonly string[] {
  if (name === 'None') return [];
  const versions = Object.keys(SINCE);
  const last = name === 'vCurrent' ? versions.length - 1 : versions.indexOf(name);
  return versions.slice(0, last + 1).flatMap((version) => SINCE[version] ?? []);
}

/** By bytes, so that upper case goes first. */
function sorted(names: Iterable<string>): readonly string[] {
  return [...new Set(names)].toSorted((a, b) => (a < b ? -1 : Number(a > b)));
}
