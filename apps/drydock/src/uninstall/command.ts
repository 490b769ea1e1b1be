import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '@drydock/api/text';
import { type KubeClient, keyText } from '@drydock/kube';
import type { Command } from 'commander';
import { agreed } from '../confirmation.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { leadershipText } from '../leadership.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { say, sayError } from '../terminal.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { type Installation, installationIn } from './installation.ts';
import { removalText, remove, type Stage, stagesOf } from './removal.ts';
import { checkNoExport, exporter } from './written.ts';

interface UninstallFlags extends ClusterFlags, VCenterFlags {
  readonly leaseNamespace: string;
  readonly dryRun?: boolean;
  readonly export?: string;
  readonly yes?: boolean;
}

/** Pods have 45 s to end in order, and a Lease that a crashed one left runs out after 270 s on a single node. */
const GONE_MS = 300_000;
/** Between two looks at a Lease: who would take it over has done so. */
const LOOK_MS = 3000;
/** What changes while it is taken off is looked at again. */
const LOOKS = 3;

/** Adds `drydock uninstall`: takes off what Drydock has put into the cluster, in an order in which nothing hangs, and says what stays. */
export function addUninstall(program: Command): void {
  const command = program
    .command('uninstall')
    .description('take off what Drydock has put into the cluster, and say what stays')
    .option('--dry-run', 'say what would go and what would stay, and change nothing')
    .option('--yes', 'do not ask')
    .option(
      '--export <file>',
      'where policies, payloads and pins are kept before they go (default: drydock-objects-TIME.yaml here)',
    )
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
Nothing is changed in a vCenter: templates stay, and are named. An operator that runs outside the cluster is to be stopped first.
What was interrupted goes on with the next run.
Exit codes: 0 done, 1 failed, 2 usage, 3 somebody still leads, 5 nobody said yes, 130 and 143 interrupted.`,
    );
  vcenterFlags(clusterFlags(command)).action((flags: UninstallFlags) =>
    untilInterrupted((signal) => uninstall(flags, signal), 'what is left goes with the next "drydock uninstall"'),
  );
}

async function uninstall(flags: UninstallFlags, signal: AbortSignal): Promise<number> {
  const { leaseNamespace } = flags;
  // With the client of vCenters, which the help does without.
  const { clusterImages } = await import('../cluster-images.ts');
  const { leftoversOf } = await import('./leftovers.ts');
  await using client = await connect(flags);
  const look = (): Promise<Installation> => installationIn(client, { leaseNamespace, signal });
  const installation = await look();
  const warn = (message: string): void => sayError(`warning: ${message}`);
  await using images = await clusterImages({ client, flags, leaseNamespace, warn, signal });
  const stays = await leftoversOf(installation, images, signal);
  const stages = stagesOf(installation);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const file = flags.export ?? `drydock-objects-${time}.yaml`;
  await checkNoExport(file);
  say(
    `${planText(stages)}${writtenText(installation, file)}What stays:\n${stays.map((line) => `  - ${oneLine(line)}.\n`).join('')}`,
  );
  const led = installation.deployments.length === 0 && refused(installation);
  if (stages.length === 0 || flags.dryRun === true) return exitCode.done;
  if (led) return exitCode.blocked;
  if (!(await agreed('Take it off?', { yes: flags.yes === true, signal }))) {
    sayError('drydock: nothing was changed: that needs a yes. Without a terminal: drydock uninstall --yes');
    return exitCode.undecided;
  }
  return await takeOff(client, look, exporter(file), signal);
}

/** Stage by stage, and again from what is there then, until nothing is. */
async function takeOff(
  client: Pick<KubeClient, 'delete' | 'patch'>,
  look: () => Promise<Installation>,
  keep: ReturnType<typeof exporter>,
  signal: AbortSignal,
): Promise<number> {
  let now = await look();
  for (let looks = 0; looks < LOOKS && stagesOf(now).length > 0; looks += 1) {
    if (now.deployments.length > 0) {
      await carryOut(client, [stagesOf(now)[0] ?? { title: '', removals: [] }], signal);
      now = await look();
    }
    // What leads makes again what is deleted under it.
    now = await abandoned(now, look, signal);
    if (refused(now)) return exitCode.blocked;
    const kept = await keep(now.written);
    if (kept !== undefined) say(`What people wrote is kept in ${kept}: kubectl apply -f brings it back\n`);
    await carryOut(client, stagesOf(now), signal);
    now = await look();
  }
  const left = stagesOf(now).flatMap(({ removals }) => removals.map(removalText));
  if (left.length > 0)
    throw new Error(`what comes again or does not go: ${left.join(', ')}. Run it once more: drydock uninstall`);
  say('Nothing of Drydock is left in the cluster, but for what stays.\n');
  return exitCode.done;
}

async function carryOut(
  client: Pick<KubeClient, 'delete' | 'patch'>,
  stages: readonly Stage[],
  signal: AbortSignal,
): Promise<void> {
  for (const { removals } of stages)
    for (const removal of removals) {
      await remove(client, removal, signal);
      say(`${removalText(removal)} is taken off\n`);
    }
}

/** Waits until nobody leads, and nobody who waited has followed. */
async function abandoned(
  first: Installation,
  look: () => Promise<Installation>,
  signal: AbortSignal,
): Promise<Installation> {
  const held = ({ leaders }: Installation): boolean => leaders.some(({ leadership }) => leadership.state === 'led');
  const until = performance.now() + GONE_MS;
  let [before, now] = [held(first), first];
  while (before && performance.now() < until) {
    await sleep(LOOK_MS, undefined, { signal });
    now = await look();
    if (held(now)) continue;
    await sleep(LOOK_MS, undefined, { signal });
    now = await look();
    before = held(now);
  }
  return now;
}

/** Whether somebody leads, which is told. */
function refused({ leaders }: Installation): boolean {
  const held = leaders.filter(({ leadership }) => leadership.state === 'led');
  for (const { role, leadership } of held) {
    const who = leadershipText(leadership, `the role ${role}`, Date.now());
    sayError(`drydock: ${who}, and would make again what is taken off. Stop that "drydock operator" first.`);
  }
  return held.length > 0;
}

function writtenText({ written }: Installation, file: string): string {
  if (written.length === 0) return '';
  const lines = written.map(({ resource: { kind }, object: { metadata } }) => `  - ${kind} ${keyText(metadata)}\n`);
  return `What people wrote, and goes with the definitions; it is exported to ${file} first:\n${lines.join('')}`;
}

function planText(stages: readonly Stage[]): string {
  if (stages.length === 0) return 'There is nothing of Drydock in this cluster.\n';
  const text = stages.map(({ title, removals }, at) => {
    const lines = removals.map((removal) => `     ${removalText(removal)}\n`);
    return `  ${at + 1}. ${title}\n${lines.join('')}`;
  });
  return `What is taken off:\n${text.join('')}`;
}
