import type { ClusterVersion, Infrastructure } from '@drydock/api';
import { BootImageError, orBootImageError, thrownFacts } from '../errors.ts';
import type { JsonObject } from '../observe/json.ts';
import { controlPlanes, type KeptSet, kindOf, machineSets, setText } from '../observe/kept-set.ts';
import { providerSpecOf, unusableName } from '../observe/provider-spec.ts';
import type { Stream } from '../observe/stream.ts';
import { architectureOf } from './architecture.ts';
import { authorityOf } from './authority.ts';
import { controlPlanesSupported, stackHub } from './reflect.ts';
import { askedToLeave } from './request.ts';

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
  readonly set: KeptSet;
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
export function exemptionOf(set: KeptSet): Skip | undefined {
  const text = setText(set);
  // Control planes have no counter for what is skipped: upstream's conditions are compared by text.
  const counted = kindOf(set) === machineSets;
  const request = askedToLeave(set);
  if (request !== undefined) return skip(counted, 'OptedOut', ...request);
  const owner = set.metadata.ownerReferences?.[0];
  if (owner !== undefined) {
    const who = `${owner.kind} ${owner.name}`;
    return skip(counted, 'Owned', `owned by ${owner.kind}/${owner.name}`, `${text} is managed by ${who}`, {
      nextStep: `let ${who} set the image of ${text}`,
    });
  }
  if (set.metadata.deletionTimestamp !== undefined) {
    return skip(false, 'Deleting', 'being deleted', `${text} is being deleted`);
  }
  const { asked, is } = authorityOf(set);
  const authority = asked === 'MachineAPI' ? is : asked;
  if (authority !== 'MachineAPI') {
    const why = `${text} follows ${authority}; writes to it are refused`;
    return skip(counted, 'OtherAuthority', `authority is ${authority}`, why);
  }
  const osStream = set.metadata.labels?.['machineconfiguration.openshift.io/osstream'];
  if (osStream !== undefined && osStream !== 'rhel-9') {
    const why = `${text} uses OS stream ${osStream}; only rhel-9 is served`;
    return skip(false, 'OtherStream', `stream ${osStream}`, why);
  }
  if (set.spec?.template?.metadata?.labels?.['machine.openshift.io/os-id'] === 'Windows') {
    return skip(false, 'Windows', 'Windows machines', `${text} makes Windows machines`);
  }
  return undefined;
}

/** The ordered decisions of boot-images.md §2.3 up to the platform; the first row that applies wins. */
export function decideSet(facts: SetFacts): SetDecision {
  const { set } = facts;
  const { name } = set.metadata;
  const kind = kindOf(set);
  const text = setText(set);
  const exemption = exemptionOf(set);
  if (exemption !== undefined) return exemption;
  if (facts.clusterVersion === undefined) {
    return failed(
      'ClusterVersionUnreadable',
      `failed to fetch clusterversion during ${kind.inTexts} sync: clusterversions.config.openshift.io "version" not found`,
    );
  }
  const architecture = architectureOf({
    name,
    // All machines of a control plane are of one architecture, that of the machine on which the operator is to run.
    ...(kind === controlPlanes
      ? { clusterArchitecture: undefined }
      : {
          annotations: set.metadata.annotations,
          clusterArchitecture: facts.clusterVersion.status?.desired?.architecture,
        }),
    fallback: facts.fallbackArchitecture,
  });
  if (architecture.kind === 'unknown') {
    return skip(true, 'ArchitectureUnknown', 'architecture unknown', architecture.message, {
      nextStep: `annotate ${text}: capacity.cluster-autoscaler.kubernetes.io/labels=kubernetes.io/arch=amd64`,
    });
  }
  if (architecture.kind === 'invalid') {
    return failed('ArchitectureInvalid', `failed to fetch arch during machineset sync: ${architecture.message}`, {
      retriable: false,
      nextStep: `correct annotation capacity.cluster-autoscaler.kubernetes.io/labels of ${text}`,
    });
  }
  if (facts.infrastructure === undefined) {
    return failed(
      'InfrastructureUnreadable',
      `failed to fetch infra object during ${kind.inTexts} sync: infrastructures.config.openshift.io "cluster" not found`,
    );
  }
  const never = neverKept(set, facts.infrastructure);
  if (never !== undefined) return never;
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
  const spec = orBootImageError(() => providerSpecOf(set.spec?.template?.spec?.providerSpec?.value));
  if (spec instanceof BootImageError) return { kind: 'error', error: spec };
  const unusable = unusableName(spec);
  // Nothing of it is sent, shown or logged.
  if (unusable !== undefined)
    return failed('NameUnusable', unusable, {
      retriable: false,
      nextStep: `correct ${kind.specPath.join('.')} of ${text}`,
    });
  const { stream, infrastructure } = facts;
  if (stream instanceof BootImageError) return { kind: 'error', error: stream };
  return { kind: 'platform', platform, architecture: architecture.architecture, spec, stream, infrastructure };
}

/** Why a set of the control plane is never kept on the platform of the cluster; undefined where it may be. */
export function neverKept(set: KeptSet, infrastructure: Infrastructure | undefined): Skip | undefined {
  const { type } = infrastructure?.status?.platformStatus ?? {};
  if (kindOf(set) !== controlPlanes || type === undefined || controlPlanesSupported(type)) return undefined;
  const why =
    type === 'VSphere'
      ? 'on vSphere its templates are those of the failure domains in infrastructure/cluster, which are not changed'
      : `boot images of control planes on ${type} are not managed`;
  return skip(false, 'PlatformUnsupported', `control plane on ${type}`, `${setText(set)}: ${why}`);
}

/**
 * An error of a platform's part, in the words of §2.3 row 10. Code, next step and retriability stay those of the cause; errors of
 * the template store carry their sentence (`text`) and the next step (`next`) apart.
 */
export function wrapped(set: KeptSet, cause: unknown): BootImageError {
  const { code, retriable, nextStep, text } = thrownFacts(cause);
  return new BootImageError(
    code as BootImageError['code'],
    `failed to reconcile ${kindOf(set).inTexts} ${set.metadata.name}, err: ${text}`,
    {
      ...{ cause, retriable },
      ...(nextStep === undefined ? {} : { nextStep }),
      ...(cause instanceof BootImageError && cause.facts !== undefined ? { facts: cause.facts } : {}),
    },
  );
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
