import type { Audience, Capabilities, Payload, Selected } from '@drydock/release';
import type { Command } from 'commander';

/** For whom a payload is read. */
export interface AudienceFlags {
  readonly profile: string;
  readonly featureSet: string;
  readonly gate: readonly string[];
  readonly capabilities?: string;
  readonly plain?: true;
}

/** A payload as one kind of cluster sees it. */
export interface SeenPayload extends Selected {
  readonly payload: Payload;
  readonly capabilities: Capabilities | undefined;
}

/** Adds the flags that say for whom a payload is read. */
export function audienceFlags(verb: Command): Command {
  return verb
    .option('--profile <name>', 'cluster profile that manifests must include', 'self-managed-high-availability')
    .option('--feature-set <name>', 'feature set of the cluster', 'Default')
    .option(
      '--gate <name>',
      'feature gate that is on; may be repeated',
      (one: string, all: readonly string[]) => [...all, one],
      [],
    )
    .option(
      '--capabilities <set>',
      'baseline of capabilities, as None, v4.14 or vCurrent; without it all count as enabled',
    )
    .option('--plain', 'a payload of others: its manifests need not say for whom they are');
}

/** Reads a payload and sorts it for an audience. Throws `ReleaseError`. */
export async function readPayload(name: string, flags: AudienceFlags): Promise<SeenPayload> {
  const release = await import('@drydock/release');
  const payload = release.loadPayload(await release.readPayloadDirectory(name), { clusterProfile: flags.profile });
  const capabilities =
    flags.capabilities === undefined ? undefined : release.capabilitiesFor({ baseline: flags.capabilities }, []);
  const audience: Audience = {
    profile: flags.plain === true ? undefined : flags.profile,
    featureSet: flags.featureSet,
    gates: new Set(flags.gate),
    majorVersion: Number.parseInt(payload.metadata.version, 10),
  };
  const selected = release.select(payload.manifests, {
    audience,
    ...(capabilities === undefined ? {} : { capabilities }),
  });
  return { payload, capabilities, ...selected };
}
