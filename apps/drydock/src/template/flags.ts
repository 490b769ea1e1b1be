import type { Command } from 'commander';
import { readAddress } from './address.ts';
import { TemplateProblem } from './problem.ts';
import type { Layer, TrustSettings } from './settings.ts';

/** Formats of verbs that say what happens while it does. */
export const EVENT_FORMATS = 'table|wide|name|json|yaml|jsonpath=TEMPLATE (for programs: an event at a time)';

/** Flags of every verb. */
export interface CommonFlags {
  readonly url?: string;
  readonly username?: string;
  readonly passwordFile?: string;
  readonly thumbprint?: string;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly datacenter?: string;
  readonly datastore?: string;
  readonly folder?: string;
  readonly resourcePool?: string;
  readonly cluster?: string;
  readonly network?: string;
  readonly tag?: string;
  readonly owner?: string;
  readonly markKey?: string;
  readonly cacheDir?: string;
  readonly stateDir?: string;
  readonly config?: string;
  readonly loginNow?: boolean;
  readonly output?: string;
}

/** Adds the flags that say which vCenter, as whom, and how it is trusted. */
export function connectionFlags(command: Command): Command {
  return command
    .option('--url <address>', 'vCenter, as GOVC_URL; never with a password')
    .option('--username <name>', 'as GOVC_USERNAME')
    .option('--password-file <file>', 'file with the password (or set GOVC_PASSWORD)')
    .option('--thumbprint <sha256>', "SHA-256 fingerprint of the server's certificate")
    .option('--ca <file>', 'certificate authorities (PEM), as GOVC_TLS_CA_CERTS')
    .option('--insecure', 'do not verify the server (unsafe), as GOVC_INSECURE')
    .option('--config <file>', 'config file (default: ~/.config/drydock/template.yaml)')
    .option('--login-now', 'show the password to the vCenter although it refused it lately');
}

/** Adds the flags that every verb of `drydock template` has. */
export function commonFlags(command: Command): Command {
  return connectionFlags(command)
    .option('--datacenter <name>', 'as GOVC_DATACENTER')
    .option('--folder <path>', 'folder of the templates, as GOVC_FOLDER')
    .option('--cluster <name>', 'compute cluster, as GOVC_CLUSTER')
    .option('--resource-pool <path>', 'as GOVC_RESOURCE_POOL')
    .option('--datastore <name>', 'as GOVC_DATASTORE')
    .option('--network <name>', 'as GOVC_NETWORK')
    .option('--tag <name>', 'tag of every published template')
    .option('--owner <name>', 'owner in the mark; nobody touches templates of another one (default: drydock-template)')
    .option(
      '--mark-key <file>',
      'file with the keys that sign codes, one key or name:key per line (or set DRYDOCK_MARK_KEY)',
    )
    .option('--cache-dir <folder>', 'where downloaded images are kept (default: ~/.cache/drydock/images)')
    .option('--state-dir <folder>', 'folder of the ownership ledger (default: ~/.local/state/drydock)')
    .option('-o, --output <format>', EVENT_FORMATS, 'table');
}

/** A command and those above it, the program first. */
export function lineage(command: Command): readonly Command[] {
  return [...(command.parent === null ? [] : lineage(command.parent)), command];
}

/** `drydock watch vms`. */
export function commandPath(command: Command): string {
  return lineage(command)
    .map((one) => one.name())
    .join(' ');
}

/** What the line, variables and the context say of flags, each as a layer, the strongest first. */
export function flagLayers(command: Command): readonly Layer[] {
  return LAYERS.map(([source, origin]) => {
    const said: Record<string, unknown> = {};
    for (const one of lineage(command).toReversed())
      for (const [key, value] of Object.entries(one.opts()))
        if (one.getOptionValueSource(key) === source) said[key] = value;
    return flagLayer(said as CommonFlags, origin);
  });
}

const LAYERS = [
  ['cli', 'flags'],
  ['env', 'variables of Drydock'],
  ['config', 'context'],
] as const;

/** Flags as a layer. A password on the command line could be read by everybody on this machine. */
export function flagLayer(flags: CommonFlags, origin: Layer['origin'] = 'flags'): Layer {
  if (origin === 'flags' && flags.url !== undefined && readAddress(flags.url, '--url').password !== undefined) {
    throw new TemplateProblem({
      code: 'PASSWORD_IN_FLAG',
      message:
        '--url has a password, which every user of this machine could read; set GOVC_PASSWORD or give --password-file',
      next: 'drydock template doctor --url https://VCENTER --username USER --password-file FILE',
    });
  }
  const { thumbprint, ca, insecure, markKey: markKeyFile } = flags;
  const trust: TrustSettings = {
    ...(thumbprint === undefined ? {} : { thumbprint }),
    ...(ca === undefined ? {} : { ca: [ca] }),
    ...(insecure === undefined ? {} : { insecure }),
  };
  const said = SETTINGS.map((key) => [key, flags[key]] as const).filter(([, value]) => value !== undefined);
  return { origin, ...Object.fromEntries(said), ...(markKeyFile === undefined ? {} : { markKeyFile }), trust };
}

/** Flags that are settings under the same name. */
const SETTINGS = [
  'url',
  'username',
  'passwordFile',
  'datacenter',
  'datastore',
  'folder',
  'resourcePool',
  'cluster',
  'network',
  'tag',
  'owner',
  'cacheDir',
  'stateDir',
] as const;

/** Collects a flag that may be given several times. */
export function several(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
