import type { Manifest } from '@drydock/release';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { type AudienceFlags, audienceFlags, PAYLOAD_ARGUMENT, readPayload } from './payload-source.ts';
import { wayOfPayload } from './payload-way.ts';
import { type PreflightOutput, preflightText } from './rollback-text.ts';

interface PreflightFlags extends AudienceFlags, ClusterFlags {
  readonly to?: string;
  readonly output: OutputFormat;
}

/** Adds `release preflight`: what stands between what is stored and a release. It only reads. */
export function addPreflight(group: Command): void {
  const verb = group
    .command('preflight')
    .description('judge what is stored by the definitions of a release, as a way back to it would leave that');
  clusterFlags(audienceFlags(verb))
    .argument('<payload>', `with --to the name of a Payload, else ${PAYLOAD_ARGUMENT}`)
    .option('--to <version>', 'a release in the history of this Payload')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A way back heals by itself what it can: statuses are cut to what both releases take, and what the older definition prunes is copied. What is left a person must heal, or accept by its name.
Exit codes: 0 clean, 1 failed, 2 usage, 3 something stands against it, 5 something could not be judged.`,
    )
    .action((name: string, flags: PreflightFlags) =>
      untilInterrupted((signal) => preflight(name, flags, signal), 'nothing was changed'),
    );
}

interface Judged {
  readonly manifests: readonly Manifest[];
  readonly version: string;
  readonly accepted: readonly string[];
  readonly kubernetes?: string;
}

async function preflight(name: string, flags: PreflightFlags, signal: AbortSignal): Promise<number> {
  const { isStop, targetServer, wayPreflight } = await import('@drydock/release');
  await using client = await connect(flags);
  const read = async (): Promise<Judged> => {
    if (flags.to !== undefined) {
      const { wish, ...way } = await wayOfPayload(client, name, flags, signal);
      return { ...way, manifests: wish.to.manifests, version: wish.to.payload.version, accepted: wish.accepted };
    }
    const { included: manifests, payload } = await readPayload(name, flags, signal);
    const { kubernetes, metadata } = payload;
    return { manifests, version: metadata.version, accepted: [], ...(kubernetes === undefined ? {} : { kubernetes }) };
  };
  const { manifests, version, accepted, kubernetes } = await read();
  const target = targetServer(kubernetes);
  const judged = await wayPreflight(client, manifests, {
    ...{ now: new Date(), signal },
    ...(target === undefined ? {} : { target }),
  });
  const open = judged.findings.filter((one) => one.blocking && isStop({ accepted }, one));
  const verdict =
    open.length === 0 ? 'clean' : open.every((one) => one.class === 'UNDECIDED') ? 'undecided' : 'blocked';
  const output: PreflightOutput = { version, verdict, stops: open.map(({ id }) => `Rollback/${id}`), ...judged };
  print(flags.output, output, () => preflightText(output, flags.output.wide));
  return { clean: exitCode.done, blocked: exitCode.blocked, undecided: exitCode.undecided }[verdict];
}
