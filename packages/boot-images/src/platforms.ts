import type { CloudHttpsOptions } from './cloud/https.ts';
import { platformSupported } from './decide/reflect.ts';
import type { World } from './observe/world.ts';
import type { Platform } from './platform.ts';

/** The platforms that are served, by `Infrastructure.status.platformStatus.type`; a map of them is such a thing. */
export interface Platforms {
  readonly has: (type: string) => boolean;
  /** Undefined also for one that is served and not loaded. */
  readonly get: (type: string) => Platform | undefined;
}

/** Platforms of which nothing is loaded before it is needed. Disposal ends the conversations of those that were. */
export interface LazyPlatforms extends Platforms, AsyncDisposable {
  /** Loads one, where it is served. The others stay what they are: a name. */
  readonly load: (type: string | undefined) => Promise<void>;
}

/** How each platform is made, the first time that a cluster is on it. */
export type PlatformMakers = Readonly<Record<string, () => Platform | Promise<Platform>>>;

/** Loads nothing yet. */
export function lazyPlatforms(makers: PlatformMakers): LazyPlatforms {
  const made = new Map<string, Platform>();
  return {
    has: (type) => Object.hasOwn(makers, type),
    get: (type) => made.get(type),
    load: async (type = '') => {
      const make = Object.hasOwn(makers, type) ? makers[type] : undefined;
      if (make !== undefined && !made.has(type)) made.set(type, await make());
    },
    [Symbol.asyncDispose]: async () => {
      for (const platform of made.values()) await platform[Symbol.asyncDispose]?.();
    },
  };
}

/**
 * The clouds. `unasked` in place of options: nothing is asked of them, so that nothing can be said of whether an image starts; for readers who go by API objects
 * alone, never for who patches.
 */
export function cloudPlatforms(how: CloudHttpsOptions | 'unasked'): PlatformMakers {
  return {
    GCP: async () => (await import('./gcp/platform.ts')).gcpPlatform(how),
    AWS: async () => (await import('./aws/platform.ts')).awsPlatform(how),
    Azure: async () => (await import('./azure/platform.ts')).azurePlatform(how),
  };
}

/** Whether boot images are kept current on the platform of a cluster. */
export function isServed({ infrastructure }: Pick<World, 'infrastructure'>): boolean {
  const { type = '', azure } = infrastructure()?.status?.platformStatus ?? {};
  return (
    platformSupported(type, azure?.cloudName) && (type === 'VSphere' || Object.hasOwn(cloudPlatforms('unasked'), type))
  );
}
