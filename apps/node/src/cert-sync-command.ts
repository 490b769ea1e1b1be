import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CertSyncSpec, runCertSync, validateCertSync } from '@drydock/static-pods';
import type { Command } from 'commander';
import { connect, notices } from './cluster.ts';
import { duration, list } from './flags.ts';

interface Flags {
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly destinationDir: string;
  readonly tlsServerNameOverride?: string;
  readonly secrets: readonly string[];
  readonly configmaps: readonly string[];
  readonly optionalSecrets: readonly string[];
  readonly optionalConfigmaps: readonly string[];
  readonly resyncDuration: number;
}

/** Time (ms) between two looks at the kubeconfig. */
const KUBECONFIG_MS = 500;

const NAMES: Readonly<Record<string, string>> = {
  secrets: 'Secrets to keep',
  'optional-secrets': 'the same, where they may be absent',
  configmaps: 'ConfigMaps to keep',
  'optional-configmaps': 'the same, where they may be absent',
};

/** Adds `cert-sync`; what library-go compiles in, the lists of objects, are flags here. */
export function addCertSync(program: Command, signal: AbortSignal): void {
  const command = program
    .command('cert-sync')
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
  for (const flag of Object.keys(NAMES)) command.option(`--${flag} <names>`, NAMES[flag] ?? '', list, []);
  command.addHelpText('after', '\nLists may be repeated or hold commas. POD_NAME finds whom events are about.');
  command.action(async (flags: Flags) => {
    const sources = (names: readonly string[], optional: readonly string[]) => [
      ...names.map((name) => ({ name })),
      ...optional.map((name) => ({ name, optional: true })),
    ];
    const spec: CertSyncSpec = {
      namespace: flags.namespace,
      dir: flags.destinationDir,
      secrets: sources(flags.secrets, flags.optionalSecrets),
      configmaps: sources(flags.configmaps, flags.optionalConfigmaps),
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
        resyncMs: flags.resyncDuration,
        notify: events.notify,
        log: (line) => console.error(line),
        onPass: (result) => console.log(JSON.stringify(result)),
      });
    } finally {
      end.abort();
      await watching;
    }
  });
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
