import { stringify } from 'yaml';
import type { Platform } from './platforms.ts';

/** An archive of a platform. */
export interface Archive {
  readonly platform: Platform;
  readonly file: string;
  readonly sha256: string;
}

/**
 * The manifest by which krew installs `kubectl drydock`. Without `url` the archives are named by their files alone, which is enough for
 * `kubectl krew install --manifest=drydock.yaml --archive=FILE`.
 */
export function krewManifest(version: string, archives: readonly Archive[], url?: string): string {
  const base = url === undefined ? '' : `${url.replace(/\/$/, '')}/`;
  return stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'drydock' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Boot images, vSphere templates and releases with a way back',
      description:
        'Says why machine sets boot from what they boot from, plans and takes back boot images, publishes vSphere templates, watches machines, and tells what an older definition would lose.\n',
      // Krew makes a link to one program of a plugin, and shows this once it is installed.
      caveats: `For kubectl's completion of "kubectl drydock" make one more link:\n  ln -sf "\${KREW_ROOT:-$HOME/.krew}/store/drydock/v${version}/bin/kubectl_complete-drydock" "\${KREW_ROOT:-$HOME/.krew}/bin/"\n`,
      platforms: archives.map(({ platform, file, sha256 }) => ({
        selector: { matchLabels: { os: platform.os, arch: platform.arch } },
        uri: `${base}${file}`,
        sha256,
        files: [{ from: `${file.replace('.tar.gz', '')}/*`, to: '.' }],
        bin: 'bin/kubectl-drydock',
      })),
    },
  });
}
