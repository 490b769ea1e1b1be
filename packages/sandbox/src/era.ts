import type { GoServer } from './build.ts';

/**
 * How an API server treats what is stored and is illegal for the schema of today (KEP-4008).
 *
 * - `E0`: a write that leaves it alone is refused like any other. Kubernetes up to 1.29; here 1.34 emulating 1.32 with
 *   the feature gate CRDValidationRatcheting off.
 * - `E1`: it is let alone on the main endpoint, not on `/status`. Kubernetes 1.30 to 1.32; here 1.32.13, a binary of
 *   its own that is built the first time it is asked for.
 * - `E2`: it is let alone on both. Kubernetes from 1.33; here 1.34.4.
 */
export type ApiServerEra = 'E0' | 'E1' | 'E2';

/** All eras, oldest first. */
export const API_SERVER_ERAS: readonly ApiServerEra[] = ['E0', 'E1', 'E2'];

/** Which of our servers an era is made of, and the flags that make it so. */
export interface EraProgram {
  readonly server: GoServer;
  readonly flags: readonly string[];
}

/** See {@link ApiServerEra}. */
export const ERA_PROGRAMS: Readonly<Record<ApiServerEra, EraProgram>> = {
  E0: {
    server: 'drydock-apiserver',
    flags: ['--emulated-version=1.32', '--feature-gates=CRDValidationRatcheting=false'],
  },
  E1: { server: 'drydock-apiserver-1.32', flags: [] },
  E2: { server: 'drydock-apiserver', flags: [] },
};
