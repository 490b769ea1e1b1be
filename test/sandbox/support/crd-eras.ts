import { API_SERVER_ERAS, type ApiServerEra, backendOf, withoutRealServers } from '@drydock/sandbox';

/** Whether servers of era E1 are wanted where that costs a build of minutes: a soak and DRYDOCK_ERAS=1 say so. */
export const WANTS_E1: boolean = process.env['DRYDOCK_ERAS'] === '1' || process.env['DRYDOCK_SOAK'] !== undefined;

/** Why a test of era E1 is skipped, or false: the embedded API server has every era. */
export const SKIPS_E1: string | false =
  WANTS_E1 || backendOf() === 'embedded'
    ? false
    : 'needs kube-apiserver 1.32.13, which takes minutes to build: set DRYDOCK_ERAS=1';

/** Whether a test of an era is skipped, and why. */
export function skips(era: ApiServerEra): string | false {
  return era === 'E1' ? SKIPS_E1 : false;
}

/** The eras that this run has servers for. */
export const ERAS_HERE: readonly ApiServerEra[] = API_SERVER_ERAS.filter((era) => skips(era) === false);

/** Why a test is skipped that holds our reading of schemas to that of kube-apiserver, or false: no other server may be its judge. */
export const SKIPS_JUDGED: string | false = withoutRealServers('kube-apiserver is the judge of how schemas are read');
