import { join } from 'node:path';

const PACKAGE = join(import.meta.dirname, '..');

/** The Go sources: one folder per module. */
export const GO_DIRECTORY: string = join(PACKAGE, 'go');

/**
 * What the build makes, ignored by git: `bin/<server>-<hash>`, `crds/<set>/*.yaml`, `build.lock`.
 * DRYDOCK_SANDBOX_CACHE moves it, for packages installed where nobody may write.
 */
export function cacheDirectory(): string {
  return process.env['DRYDOCK_SANDBOX_CACHE'] ?? join(PACKAGE, '.cache');
}
