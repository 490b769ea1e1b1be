import { ReleaseError } from '../errors.ts';
import { type Manifest, whereOf } from '../payload/manifest.ts';
import { DEFAULT_PROFILE } from '../payload/payload.ts';

/** For whom a release is applied. */
export interface Audience {
  /** Clusters that exclude themselves by name, as `self-managed-high-availability` in `exclude.release.openshift.io/…`; default the profile. */
  readonly identifier?: string;
  /** `include.release.openshift.io/PROFILE` must be "true"; undefined where manifests need not say for whom they are. */
  readonly profile: string | undefined;
  readonly featureSet: string;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  readonly majorVersion: number;
}

/** An OpenShift cluster that says nothing else. */
export const openshiftAudience: Audience = {
  profile: DEFAULT_PROFILE,
  featureSet: 'Default',
  gates: new Set(),
  majorVersion: 4,
};

const INCLUDE = 'include.release.openshift.io/';
const EXCLUDE = 'exclude.release.openshift.io/';
const FEATURE_SET = 'release.openshift.io/feature-set';
const FEATURE_GATE = 'release.openshift.io/feature-gate';
const MAJOR_VERSION = 'release.openshift.io/major-version';
const CREATE_ONLY = 'release.openshift.io/create-only';
const DELETE = 'release.openshift.io/delete';

/** Sets that OpenShift knows; a manifest for any other is for nobody. */
const FEATURE_SETS = new Set(['Default', 'TechPreviewNoUpgrade', 'DevPreviewNoUpgrade', 'CustomNoUpgrade', 'OKD']);
/** Only these are told apart by the major version. */
const BY_MAJOR = new Set(['FeatureGate.config.openshift.io', 'CustomResourceDefinition.apiextensions.k8s.io']);

/** What is done with an object, by its annotations. */
export type Action = 'apply' | 'create' | 'delete';

/** Why a manifest is not for this audience, as a clause; undefined where it is. Throws `ReleaseError` for annotations that contradict each other. */
export function excludedBy(manifest: Manifest, audience: Audience): string | undefined {
  const { annotations } = manifest;
  const { identifier = audience.profile, profile } = audience;
  if (profile !== undefined && Object.keys(annotations).length === 0)
    return 'it has no annotation that says for whom it is';
  if (identifier !== undefined && annotations[EXCLUDE + identifier] === 'true') return `it excludes ${identifier}`;
  const [set, gates] = [annotations[FEATURE_SET], annotations[FEATURE_GATE]];
  if (set !== undefined && gates !== undefined) {
    throw new ReleaseError(
      'BAD_ANNOTATION',
      `${whereOf(manifest)} has both ${FEATURE_SET} and ${FEATURE_GATE}, which exclude each other`,
    );
  }
  if (set !== undefined) {
    const sets = set.split(',').map((one) => one.trim() || 'Default');
    const unknown = sets.find((one) => !FEATURE_SETS.has(one));
    if (unknown !== undefined) return `it is for the feature set ${unknown}, which is not known`;
    if (!sets.includes(audience.featureSet)) return `it is for the feature set ${sets.join(', ')}`;
  }
  for (const gate of listed(gates)) {
    const [name, on] = gate.startsWith('-') ? [gate.slice(1), false] : [gate, true];
    if (audience.gates.has(name) !== on) return `the feature gate ${name} is ${on ? 'off' : 'on'}`;
  }
  if (BY_MAJOR.has(`${manifest.id.kind}.${manifest.id.group}`) && !isForMajor(manifest, audience.majorVersion))
    return `it is for the major version ${annotations[MAJOR_VERSION]}`;
  if (profile !== undefined && annotations[INCLUDE + profile] !== 'true') return `it does not include ${profile}`;
  return undefined;
}

/** What its annotations ask to be done with an object. Throws `ReleaseError`. */
export function actionOf(manifest: Manifest): Action {
  const { [DELETE]: remove, [CREATE_ONLY]: create } = manifest.annotations;
  if (remove !== undefined && remove !== 'true') {
    throw new ReleaseError('BAD_ANNOTATION', `${whereOf(manifest)}: ${DELETE} is neither absent nor "true"`);
  }
  if (remove === 'true') return 'delete';
  return create === 'true' ? 'create' : 'apply';
}

/** `4,5` are those that it is for, `-4` one that it is not for. */
function isForMajor(manifest: Manifest, major: number): boolean {
  const majors = listed(manifest.annotations[MAJOR_VERSION]).map((text) => {
    if (/^-?[1-9]\d*$/.test(text)) return Number(text);
    throw new ReleaseError('BAD_ANNOTATION', `${whereOf(manifest)}: ${MAJOR_VERSION} has ${text}, which is no number`);
  });
  const wanted = majors.filter((one) => one > 0);
  return (wanted.length === 0 || wanted.includes(major)) && !majors.includes(-major);
}

/** Lists are written with commas. */
function listed(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
