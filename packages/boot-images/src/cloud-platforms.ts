import type { CloudHttpsOptions } from './cloud/https.ts';
import { platformSupported } from './decide/reflect.ts';
import type { World } from './observe/world.ts';
import type { PlatformMakers } from './platforms.ts';

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
