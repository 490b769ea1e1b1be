import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from './command.ts';

/** The bundles of the Helm chart, and the kustomizations that each has the documents of. */
const BUNDLES: Readonly<Record<string, string>> = {
  operator: 'deploy/operator',
  monitoring: 'deploy/monitoring',
  page: 'deploy/page',
  node: 'deploy/node',
  'node-install': 'deploy/node/install',
  release: 'deploy/release',
  policies: 'deploy/policies',
  'rights-boot-images': 'deploy/rbac/boot-images',
  'rights-watch': 'deploy/rbac/watch',
  'rights-together': 'deploy/rbac/together',
  'rights-cluster-api': 'deploy/rbac/cluster-api',
  'rights-control-plane': 'deploy/rbac/control-plane',
  'rights-managed-stub': 'deploy/rbac/managed-stub',
  'rights-stand-in': 'deploy/rbac/stand-in',
  'rights-canary': 'deploy/rbac/canary',
  'rights-cluster-api-canary': 'deploy/rbac/cluster-api-canary',
  'rights-cluster-version': 'deploy/rbac/release/cluster-version',
  'rights-machines': 'deploy/rbac/machines',
};
/** Helm makes the namespace; rights are bundles of their own. */
const NOT_BUNDLED: ReadonlySet<string> = new Set(['namespace.yaml', '../rbac']);

/**
 * The files of `deploy/chart/manifests` with their texts: the documents of `deploy` and `api/crds` as they are, because a chart may not reach out of its folder. What a user's values change
 * in them is said by the templates of the chart, and nothing else is.
 */
export function chartBundles(): ReadonlyMap<string, string> {
  const bundles = Object.entries(BUNDLES).map(([name, folder]) => [name, listedBy(folder)] as const);
  const definitions = globSync('api/crds/*.yaml', { cwd: root }).sort();
  return new Map(
    [...bundles, ['definitions', definitions] as const].map(([name, files]) => [
      `deploy/chart/manifests/${name}.yaml`,
      `${files
        .map((file) =>
          readFileSync(join(root, file), 'utf8')
            .replace(/^---\n/, '')
            .trimEnd(),
        )
        .join('\n---\n')}\n`,
    ]),
  );
}

/** The files that a kustomization lists, in its order. */
function listedBy(folder: string): readonly string[] {
  const { resources } = parse(readFileSync(join(root, folder, 'kustomization.yaml'), 'utf8')) as {
    readonly resources: readonly string[];
  };
  return resources.flatMap((name) => {
    if (NOT_BUNDLED.has(name)) return [];
    return name.endsWith('.yaml') ? [join(folder, name)] : listedBy(join(folder, name));
  });
}
