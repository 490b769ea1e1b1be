import type { ClusterVersion, MachineConfiguration } from '@drydock/api';
import { compareNumbers } from '../observe/version.ts';
import { type ConditionLike, degradedType, progressingType } from '../status/conditions.ts';
import type { SkewStatus } from './mode.ts';

/** Images below these cannot be upgraded by what the next minor release brings (boot-images.md §7.5). */
const MINIMUM_RELEASE = '4.13.0';
const MINIMUM_RHEL = '9.2';

/**
 * Why the cluster must not go to its next minor release: images in use that are too old for it, or nobody knows how old because
 * updates fail. Undefined where nothing speaks against it, and where a version cannot be read, of which `warn` is told.
 */
export function upgradeBlock(
  mc: MachineConfiguration | undefined,
  version: ClusterVersion | undefined,
  warn: (message: string) => void = () => {},
): string | undefined {
  const skew = mc?.status?.bootImageSkewEnforcementStatus;
  const why = skew === undefined ? undefined : reasonOf(skew, mc?.status?.conditions, warn);
  if (why === undefined) return undefined;
  if (why.kind === 'failing') return `Upgrades have been disabled due to boot image update failures: ${why.text}`;
  const minor = /^\d+\.\d+/.exec(version?.status?.history?.[0]?.version ?? '')?.[0] ?? 'latest';
  return `Upgrades have been disabled because ${why.text}. To enable upgrades, please update your boot images or disable boot image skew enforcement by following the documentation at https://docs.redhat.com/en/documentation/openshift_container_platform/${minor}/html/machine_configuration/mco-update-boot-skew-mgmt`;
}

interface Reason {
  readonly kind: 'failing' | 'old';
  readonly text: string;
}

function reasonOf(
  skew: SkewStatus,
  conditions: readonly ConditionLike[] | undefined,
  warn: (message: string) => void,
): Reason | undefined {
  if (skew.mode === 'Manual') return tooOld(skew.manual, warn);
  if (skew.mode !== 'Automatic') return undefined;
  const degraded = conditions?.find(({ type }) => type === degradedType);
  if (degraded?.status === 'True') {
    return { kind: 'failing', text: `boot image controller is degraded: ${degraded.message ?? ''}` };
  }
  // Until a pass has ended nobody knows what it makes of the images.
  if (conditions?.find(({ type }) => type === progressingType)?.status !== 'False') return undefined;
  return tooOld(skew.automatic, warn);
}

function tooOld(
  image: { readonly ocpVersion?: string; readonly rhcosVersion?: string } | undefined,
  warn: (message: string) => void,
): Reason | undefined {
  const { ocpVersion = '', rhcosVersion = '' } = image ?? {};
  if (ocpVersion !== '') {
    const older = below(ocpVersion, MINIMUM_RELEASE, 3);
    if (older === undefined) warn(`the release of the boot images is no version: ${ocpVersion}`);
    return older === true
      ? {
          kind: 'old',
          text: `the cluster is using OCP boot image version ${ocpVersion}, which is below the minimum required version ${MINIMUM_RELEASE}`,
        }
      : undefined;
  }
  if (rhcosVersion === '') return undefined;
  const rhel = rhelOf(rhcosVersion);
  if (rhel === undefined) warn(`the RHCOS version of the boot images cannot be read: ${rhcosVersion}`);
  return rhel !== undefined && below(rhel, MINIMUM_RHEL, 2) === true
    ? {
        kind: 'old',
        text: `the cluster is using RHCOS boot image version ${rhcosVersion}(RHEL version: ${rhel}), which is below the minimum required RHEL version ${MINIMUM_RHEL}`,
      }
    : undefined;
}

/** `9.6` of `9.6.20260210-0`; of the older `413.92.202307260246-0` it is the digits of the second part: `9.2`. */
function rhelOf(version: string): string | undefined {
  const [, first = '', second = '', date = ''] = /^(\d{1,4})\.(\d{1,4})\.(\d{8}|\d{12})-\d+$/.exec(version) ?? [];
  if (date === '') return undefined;
  if (date.length === 8) return `${first}.${second}`;
  return second.length < 2 ? undefined : `${second.slice(0, 1)}.${Number(second.slice(1))}`;
}

/** Undefined where `version` does not have that many numbers. */
function below(version: string, minimum: string, parts: number): boolean | undefined {
  const numbers = version.split(/[-+]/, 1)[0]?.split('.') ?? [];
  if (numbers.length !== parts || !numbers.every((part) => /^\d{1,9}$/.test(part))) return undefined;
  return compareNumbers(numbers.map(Number), minimum.split('.').map(Number)) < 0;
}
