import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CertSyncSpec, runCertSync, validateCertSync } from '@drydock/static-pods';
import { type Command, Option } from 'commander';
import { connect, notices } from './cluster.ts';
import { UsageError } from './exit.ts';
import { addDisk, type DiskFlags, diskOf, duration, list } from './flags.ts';
import { giveBack } from './memory.ts';

interface Flags extends DiskFlags, Lists {
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly destinationDir: string;
  readonly tlsServerNameOverride?: string;
  readonly lists?: string;
  readonly resyncDuration: number;
}

/** The objects to keep, by name. */
interface Lists {
  readonly secrets: readonly string[];
  readonly configmaps: readonly string[];
  readonly optionalSecrets: readonly string[];
  readonly optionalConfigmaps: readonly string[];
}

/** Read where no file is named. deploy/node mounts it; on a node it is root's. */
const DEFAULT_LISTS = '/etc/drydock/cert-sync.json';

/** Time (ms) between two looks at the kubeconfig. */
const KUBECONFIG_MS = 500;

const NAMES: Readonly<Record<string, string>> = {
  secrets: 'Secrets to keep',
  'optional-secrets': 'the same, where they may be absent',
  configmaps: 'ConfigMaps to keep',
  'optional-configmaps': 'the same, where they may be absent',
};

/** Adds `cert-sync`; what library-go compiles in, the lists of objects, are told by flags, the environment or a file. */
export function addCertSync(program: Command, signal: AbortSignal): void {
  const command = program
    .command('cert-sync')
    .alias('cert-syncer')
    .description('keep a directory of certificates as the cluster has them, until ended')
    .option('--kubeconfig <file>', 'kubeconfig (default: in-cluster); the program ends when it changes')
    .option(
      '-n, --namespace <name>',
      'namespace of the objects (POD_NAMESPACE); required',
      process.env['POD_NAMESPACE'] ?? '',
    )
    .option('--destination-dir <dir>', 'holds secrets/<name> and configmaps/<name>; required', '')
    .option('--tls-server-name-override <name>', "name in the server's certificate")
    .option('--resync-duration <duration>', 'time between two passes where nothing changes', duration, 600_000);
  for (const flag of Object.keys(NAMES))
    command.addOption(
      new Option(`--${flag} <names>`, NAMES[flag] ?? '')
        .env(`CERT_SYNC_${flag.toUpperCase().replaceAll('-', '_')}`)
        .argParser(list)
        .default([]),
    );
  command.addOption(
    new Option(
      '--lists <file>',
      `JSON with those of the four lists that neither flag nor environment gives; ${DEFAULT_LISTS} if it exists`,
    ).env('CERT_SYNC_LISTS'),
  );
  addDisk(command, 'directories');
  command.addHelpText('after', '\nLists may be repeated or hold commas. POD_NAME finds whom events are about.');
  command.action(async (flags: Flags) => {
    const lists = await listsOf(flags);
    const sources = (names: readonly string[], optional: readonly string[]) => [
      ...names.map((name) => ({ name })),
      ...optional.map((name) => ({ name, optional: true })),
    ];
    const spec: CertSyncSpec = {
      namespace: flags.namespace,
      dir: flags.destinationDir,
      secrets: sources(lists.secrets, lists.optionalSecrets),
      configmaps: sources(lists.configmaps, lists.optionalConfigmaps),
    };
    validateCertSync(spec);
    const end = new AbortController();
    const both = AbortSignal.any([signal, end.signal]);
    await using client = await connect(flags);
    await using events = await notices(client, 'drydock.dev/cert-sync-controller', {
      namespace: flags.namespace || 'default',
      pod: process.env['POD_NAME'],
    });
    const watching = endOnChange(flags.kubeconfig, end, both);
    try {
      await runCertSync(spec, {
        client,
        signal: both,
        ...diskOf(flags),
        resyncMs: flags.resyncDuration,
        notify: events.notify,
        log: (line) => console.error(line),
        onPass: (result) => {
          console.log(JSON.stringify(result));
          giveBack();
        },
      });
    } finally {
      end.abort();
      await watching;
    }
  });
}

const KEYS = ['secrets', 'configmaps', 'optionalSecrets', 'optionalConfigmaps'] as const;

/** Each list as a flag or the environment gives it, or else the file. */
async function listsOf(flags: Flags): Promise<Lists> {
  const { lists: named = '', secrets, configmaps, optionalSecrets, optionalConfigmaps } = flags;
  const told: Lists = { secrets, configmaps, optionalSecrets, optionalConfigmaps };
  const path = named === '' ? DEFAULT_LISTS : named;
  const text = await readFile(path, 'utf8').catch((error: unknown) =>
    named === '' && (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : refuse(path, textOf(error)),
  );
  if (text === undefined) return told;
  const filed = listsIn(path, text);
  return Object.fromEntries(
    KEYS.map((key) => [key, told[key].length > 0 ? told[key] : (filed[key] ?? [])]),
  ) as unknown as Lists;
}

function listsIn(path: string, text: string): Partial<Lists> {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    refuse(path, textOf(error));
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) refuse(path, 'it is no object');
  for (const [key, names] of Object.entries(found)) {
    if (!KEYS.some((known) => known === key)) refuse(path, `${JSON.stringify(key)} is none of the lists`);
    if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
      refuse(path, `${JSON.stringify(key)} is no list of names`);
  }
  return found;
}

function refuse(path: string, said: string): never {
  const wanted = '{"secrets": ["serving"], "configmaps": [], "optionalSecrets": [], "optionalConfigmaps": []}';
  throw new UsageError(`--lists ${JSON.stringify(path)}: ${said}. Expected JSON such as ${wanted}`);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Ends where the kubeconfig's content changes: the next process, which kubelet starts, takes up the new one. */
async function endOnChange(path: string | undefined, end: AbortController, signal: AbortSignal): Promise<void> {
  if (path === undefined || path === '') return;
  const read = (): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);
  const first = await read();
  while (!signal.aborted) {
    await sleep(KUBECONFIG_MS, undefined, { signal }).catch(() => undefined);
    const now = await read();
    if (signal.aborted || now === undefined || now === first) continue;
    console.error(`${path} has changed: ending`);
    end.abort(new Error('the kubeconfig has changed'));
  }
}
