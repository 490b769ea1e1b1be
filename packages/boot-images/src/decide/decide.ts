import type { ClusterVersion, Infrastructure, MachineSet } from '@drydock/api';
import { BootImageError, errorText } from '../errors.ts';
import { type JsonObject, providerSpecOf, unusableName } from '../observe/provider-spec.ts';
import type { Stream } from '../observe/stream.ts';
import { architectureOf } from './architecture.ts';
import { stackHub } from './reflect.ts';

/** Why a set is left alone. `counted` sets appear as skipped in the conditions; the others are out of scope (§2.3). */
export interface Skip {
  readonly kind: 'skip';
  readonly counted: boolean;
  /** One CamelCase word. */
  readonly reason: string;
  /** A few words for a table cell. */
  readonly brief: string;
  /** A sentence that names the object. */
  readonly message: string;
  readonly nextStep?: string;
}

/** What is decided about a set before its platform is asked. */
export type SetDecision =
  | Skip
  | { readonly kind: 'error'; readonly error: BootImageError }
  | {
      readonly kind: 'platform';
      readonly platform: string;
      readonly architecture: string;
      readonly spec: JsonObject;
      readonly stream: Stream;
      readonly infrastructure: Infrastructure;
    };

/** Everything that the decision is made from. Absent objects are undefined. */
export interface SetFacts {
  readonly set: MachineSet;
  readonly clusterVersion: ClusterVersion | undefined;
  readonly infrastructure: Infrastructure | undefined;
  /** The parsed stream, or why it could not be parsed. */
  readonly stream: Stream | BootImageError;
  /** RPM name of the architecture of single-architecture clusters. */
  readonly fallbackArchitecture: string;
  /** Platform types that are served. */
  readonly platforms: Pick<ReadonlySet<string>, 'has'>;
}

/** Why a set is left alone by what it says of itself (rows 1 to 3 of boot-images.md §2.3); undefined where it does not. */
export function exemptionOf(set: MachineSet): Skip | undefined {
  const { name } = set.metadata;
  const owner = set.metadata.ownerReferences?.[0];
  if (owner !== undefined) {
    return skip(
      true,
      'Owned',
      `owned by ${owner.kind}/${owner.name}`,
      `machineset ${name} is managed by ${owner.kind} ${owner.name}`,
      {
        nextStep: `let ${owner.kind} ${owner.name} set the image of machineset ${name}`,
      },
    );
  }
  if (set.metadata.deletionTimestamp !== undefined) {
    return skip(false, 'Deleting', 'being deleted', `machineset ${name} is being deleted`);
  }
  const authority = (set.spec as JsonObject | undefined)?.['authoritativeAPI'];
  if (typeof authority === 'string' && authority !== '' && authority !== 'MachineAPI') {
    return skip(
      true,
      'OtherAuthority',
      `authority is ${authority}`,
      `machineset ${name} follows ${authority}; writes to it are refused`,
    );
  }
  const osStream = set.metadata.labels?.['machineconfiguration.openshift.io/osstream'];
  if (osStream !== undefined && osStream !== 'rhel-9') {
    return skip(
      false,
      'OtherStream',
      `stream ${osStream}`,
      `machineset ${name} uses OS stream ${osStream}; only rhel-9 is served`,
    );
  }
  if (set.spec?.template?.metadata?.labels?.['machine.openshift.io/os-id'] === 'Windows') {
    return skip(false, 'Windows', 'Windows machines', `machineset ${name} makes Windows machines`);
  }
  return undefined;
}

/** The ordered decisions of boot-images.md §2.3 up to the platform; the first row that applies wins. */
export function decideSet(facts: SetFacts): SetDecision {
  const { set } = facts;
  const { name } = set.metadata;
  const exemption = exemptionOf(set);
  if (exemption !== undefined) return exemption;
  if (facts.clusterVersion === undefined) {
    return failed(
      'ClusterVersionUnreadable',
      'failed to fetch clusterversion during machineset sync: clusterversions.config.openshift.io "version" not found',
    );
  }
  const architecture = architectureOf({
    name,
    annotations: set.metadata.annotations,
    clusterArchitecture: facts.clusterVersion.status?.desired?.architecture,
    fallback: facts.fallbackArchitecture,
  });
  if (architecture.kind === 'unknown') {
    return skip(true, 'ArchitectureUnknown', 'architecture unknown', architecture.message, {
      nextStep: `annotate machineset ${name}: capacity.cluster-autoscaler.kubernetes.io/labels=kubernetes.io/arch=amd64`,
    });
  }
  if (architecture.kind === 'invalid') {
    return failed('ArchitectureInvalid', `failed to fetch arch during machineset sync: ${architecture.message}`, {
      retriable: false,
      nextStep: `correct annotation capacity.cluster-autoscaler.kubernetes.io/labels of machineset ${name}`,
    });
  }
  if (facts.infrastructure === undefined) {
    return failed(
      'InfrastructureUnreadable',
      'failed to fetch infra object during machineset sync: infrastructures.config.openshift.io "cluster" not found',
    );
  }
  const { type: platform = '', azure } = facts.infrastructure.status?.platformStatus ?? {};
  if (azure?.cloudName === stackHub) {
    return skip(false, 'PlatformUnsupported', 'Azure Stack Hub', 'boot images on Azure Stack Hub are not managed');
  }
  if (!facts.platforms.has(platform)) {
    return skip(
      false,
      'PlatformUnsupported',
      `platform ${platform || 'unknown'}`,
      `boot images on ${platform || 'an unnamed platform'} are not managed`,
    );
  }
  try {
    const spec = providerSpecOf(set.spec?.template?.spec?.providerSpec?.value);
    const unusable = unusableName(spec);
    // Nothing of it is sent, shown or logged.
    if (unusable !== undefined)
      return failed('NameUnusable', unusable, {
        retriable: false,
        nextStep: `correct spec.template.spec.providerSpec.value of machineset ${name}`,
      });
    if (facts.stream instanceof BootImageError) throw facts.stream;
    return {
      kind: 'platform',
      platform,
      architecture: architecture.architecture,
      spec,
      stream: facts.stream,
      infrastructure: facts.infrastructure,
    };
  } catch (error) {
    if (error instanceof BootImageError) return { kind: 'error', error };
    throw error;
  }
}

/**
 * An error of a platform's part, in the words of §2.3 row 10. Code, next step and retriability stay those of the cause; errors of
 * the template store carry their sentence (`text`) and the next step (`next`) apart.
 */
export function wrapped(set: string, cause: unknown): BootImageError {
  const known = (typeof cause === 'object' && cause !== null ? cause : {}) as {
    readonly code?: unknown;
    readonly retriable?: unknown;
    readonly nextStep?: unknown;
    readonly text?: unknown;
    readonly next?: unknown;
  };
  const text = typeof known.text === 'string' ? known.text : errorText(cause);
  const nextStep = [known.nextStep, known.next].find((step) => typeof step === 'string');
  return new BootImageError(
    // Codes of other packages pass through: they are what a person looks up.
    (typeof known.code === 'string' ? camelCase(known.code) : 'Unexpected') as BootImageError['code'],
    `failed to reconcile machineset ${set}, err: ${text}`,
    {
      ...{ cause, retriable: known.retriable !== false },
      ...(nextStep === undefined ? {} : { nextStep }),
      ...(cause instanceof BootImageError && cause.facts !== undefined ? { facts: cause.facts } : {}),
    },
  );
}

/** `TAG_NOT_FOUND` as `TagNotFound`: reasons are CamelCase words. */
function camelCase(code: string): string {
  if (!/^[A-Z0-9]+(_[A-Z0-9]+)*$/.test(code)) return code;
  return code
    .split('_')
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join('');
}

/** A skip. */
export function skip(
  counted: boolean,
  reason: string,
  brief: string,
  message: string,
  more: { readonly nextStep?: string } = {},
): Skip {
  return { kind: 'skip', counted, reason, brief, message, ...more };
}

function failed(
  code: BootImageError['code'],
  message: string,
  options: { readonly retriable?: boolean; readonly nextStep?: string } = {},
): SetDecision {
  return { kind: 'error', error: new BootImageError(code, message, options) };
}
