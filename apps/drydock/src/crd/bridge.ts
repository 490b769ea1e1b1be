import { bridge } from '@drydock/crd';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { type ClusterFlags, clusterFlags } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { readSource } from './sources.ts';

/** Adds `crd bridge`: definitions under which two neighbouring releases can both write. It only reads and prints. */
export function addBridge(group: Command): void {
  clusterFlags(group.command('bridge').description('print definitions that accept what either release writes'))
    .argument('<old>', 'file, folder, cluster: or cluster:CONTEXT; its defaults hold')
    .argument('<new>', 'likewise; stored as it stores')
    .option('--feature-set <name>', 'which of several definitions of one name', 'Default')
    .option('-o, --output <format>', 'yaml|json', 'yaml')
    .action(
      async (
        old: string,
        now: string,
        flags: ClusterFlags & { readonly featureSet: string; readonly output: string },
      ) => {
        if (flags.output !== 'yaml' && flags.output !== 'json')
          throw new UsageError(`unknown output format ${flags.output}: use one of yaml, json`);
        const [a, b] = await Promise.all([readSource(old, flags), readSource(now, flags)]);
        const manifests: unknown[] = [];
        const stops: string[] = [];
        const problems = [...a.problems, ...b.problems];
        for (const crd of b.crds) {
          const before = a.crds.find(({ name }) => name === crd.name);
          if (before === undefined) continue;
          const { crd: between, unbridged } = bridge(before, crd);
          if (between !== undefined) manifests.push(between.manifest);
          for (const { rule, path, why } of unbridged)
            stops.push(`${crd.name} cannot be bridged (${rule}${path === '' ? '' : ` ${path}`}): ${why}`);
        }
        if (flags.output === 'json')
          process.stdout.write(
            `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }, undefined, 2)}\n`,
          );
        else
          process.stdout.write(
            manifests.map((manifest) => `---\n${stringify(manifest, { aliasDuplicateObjects: false })}`).join(''),
          );
        for (const stop of [...problems.map(({ why }) => why), ...stops]) console.error(`drydock: ${stop}`);
        // What could not be read has no bridge, and nobody knows whether it needs one.
        process.exitCode =
          stops.length > 0 ? exitCode.blocked : problems.length > 0 ? exitCode.undecided : exitCode.done;
      },
    );
}
