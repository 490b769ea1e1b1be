import { BootImage, Namespace, Payload } from '@drydock/api';
import { oneLine, shortText } from '@drydock/api/text';
import type { KubeClient, KubeObject, Resource } from '@drydock/kube';
import type { Command } from 'commander';
import { type ConfigFlags, configOfLine } from '../config/apply.ts';
import { configPath } from '../config/config-path.ts';
import { foundSettings } from '../config/found.ts';
import { SETTINGS } from '../config/settings.ts';
import { type ClusterFlags, connect } from '../connect.ts';
import { sayColumns } from '../terminal.ts';
import { type Candidate, type Live, offerOf } from './candidates.ts';

/** ms; whoever presses a key does not wait longer. */
const DEADLINE = 1_000;
const MOST = 500;

/** Answers a shell: a word a line, what it means behind a tab, and `:0` at the end where names of files are meant, else `:4`. What fails is told to nobody. */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const { candidates, files, live } = offerOf(program, words);
  const current = words.at(-1) ?? '';
  const named = live === undefined ? [] : await namesOf(live.of, givenIn(words));
  const all: readonly Candidate[] = [
    ...candidates,
    ...named
      .map((name) => ({ word: `${live?.before ?? ''}${name}`, about: '' }))
      .filter(({ word }) => word.startsWith(current)),
  ];
  // A shell would read anything else as more than a word.
  const safe = all.filter(({ word }) => /^[\w./:@=,+-]+$/.test(word));
  const lines = safe.map(({ word, about }) => (about === '' ? word : `${word}\t${shortText(oneLine(about), 200)}`));
  sayColumns([...lines, files ? ':0' : ':4'].map((line) => `${line}\n`).join(''));
}

/** What the line says of a flag before its last word. */
type Given = (...flags: readonly string[]) => string | undefined;

function givenIn(words: readonly string[]): Given {
  return (...flags) => {
    for (const flag of flags) {
      const at = words.slice(0, -1).lastIndexOf(flag);
      if (at >= 0 && at + 1 < words.length - 1) return words[at + 1];
      const joined = words.slice(0, -1).find((word) => word.startsWith(`${flag}=`));
      if (joined !== undefined) return joined.slice(flag.length + 1);
    }
    return undefined;
  };
}

/** The flags that say which cluster is meant, by the id of their setting. */
const CLUSTER_FLAGS: Readonly<Record<string, readonly [key: keyof ClusterFlags, ...flags: readonly string[]]>> = {
  kubeconfig: ['kubeconfig', '--kubeconfig'],
  'kube-context': ['context', '--context'],
  'kube-cluster': ['cluster', '--cluster'],
  'kube-user': ['user', '--user'],
  namespace: ['namespace', '--namespace', '-n'],
  server: ['server', '--server', '-s'],
  'certificate-authority': ['certificateAuthority', '--certificate-authority'],
};

/** Which cluster the line means: by its flags, by variables, by its context. */
async function clusterOf(given: Given): Promise<ClusterFlags> {
  const flags = Object.entries(CLUSTER_FLAGS).map(([id, [key, ...names]]) => ({ id, key, said: given(...names) }));
  const line = new Set(flags.filter(({ said }) => said !== undefined).map(({ id }) => id));
  const wanted = flags.flatMap(({ id, key }) => {
    const setting = SETTINGS.get(id);
    return setting === undefined ? [] : [{ setting, flag: key }];
  });
  const found = foundSettings(wanted, {
    line,
    env: process.env,
    ...(await configOfLine(configFlagsOf(given), process.env)),
  });
  const values = flags.map(({ id, key, said }) => [key, said ?? found.get(id)?.words[0]] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function configFlagsOf(given: Given): ConfigFlags {
  const [drydockConfig, drydockContext] = [given('--drydock-config'), given('--drydock-context')];
  return {
    ...(drydockConfig === undefined ? {} : { drydockConfig }),
    ...(drydockContext === undefined ? {} : { drydockContext }),
  };
}

async function namesOf(of: Live, given: Given): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(DEADLINE);
  const late = new Promise<readonly string[]>((resolve) => {
    signal.addEventListener('abort', () => resolve([]), { once: true });
  });
  return Promise.race([late, asked(of, given, signal).catch(() => [])]);
}

async function asked(of: Live, given: Given, signal: AbortSignal): Promise<readonly string[]> {
  if (of === 'contexts') {
    const { readConfig } = await import('../config/config-file.ts');
    const { contexts } = await readConfig(configPath(given('--drydock-config'), process.env));
    return contexts.map(({ name }) => name);
  }
  const flags = await clusterOf(given);
  await using client = await connect(flags);
  const where = flags.namespace === undefined ? {} : { namespace: flags.namespace };
  switch (of) {
    case 'sets': {
      const images = await first(client, BootImage, where, signal);
      const ids = images.flatMap(({ status }) => status?.set ?? []);
      // Without its kind a set is found as well.
      return [...new Set([...ids.map((id) => id.slice(id.lastIndexOf('/') + 1)), ...ids])];
    }
    case 'payloads':
      return names(await first(client, Payload, where, signal));
    case 'namespaces':
      return names(await first(client, Namespace, {}, signal));
  }
}

function names(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({ metadata }) => metadata.name);
}

async function first<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  where: { readonly namespace?: string },
  signal: AbortSignal,
): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const one of client.list(resource, resource.scope === 'Cluster' ? {} : where, { signal })) {
    found.push(one);
    if (found.length === MOST) break;
  }
  return found;
}
