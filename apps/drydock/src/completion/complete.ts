import { BootImage, Namespace, Payload } from '@drydock/api';
import { oneLine, shortText } from '@drydock/api/text';
import type { KubeClient, KubeObject, Resource } from '@drydock/kube';
import type { Command } from 'commander';
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
  const named = live === undefined ? [] : await namesOf(live.of, clusterOf(words));
  const all: readonly Candidate[] = [
    ...candidates,
    ...named
      .map((name) => ({ word: `${live?.before ?? ''}${name}`, about: '' }))
      .filter(({ word }) => word.startsWith(current)),
  ];
  // A shell would read anything else as more than a word.
  const safe = all.filter(({ word }) => /^[\w./:@=,+-]+$/.test(word));
  const lines = safe.map(({ word, about }) => (about === '' ? word : `${word}\t${shortText(oneLine(about), 100)}`));
  sayColumns([...lines, files ? ':0' : ':4'].map((line) => `${line}\n`).join(''));
}

/** Flags of the line that say which cluster is meant. */
function clusterOf(words: readonly string[]): ClusterFlags {
  const given = (...flags: readonly string[]): string | undefined => {
    for (const flag of flags) {
      const at = words.slice(0, -1).lastIndexOf(flag);
      if (at >= 0 && at + 1 < words.length - 1) return words[at + 1];
      const joined = words.slice(0, -1).find((word) => word.startsWith(`${flag}=`));
      if (joined !== undefined) return joined.slice(flag.length + 1);
    }
    return undefined;
  };
  const said = {
    kubeconfig: given('--kubeconfig'),
    context: given('--context'),
    cluster: given('--cluster'),
    user: given('--user'),
    namespace: given('--namespace', '-n'),
    server: given('--server', '-s'),
    certificateAuthority: given('--certificate-authority'),
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

async function namesOf(of: Live, flags: ClusterFlags): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(DEADLINE);
  const late = new Promise<readonly string[]>((resolve) => {
    signal.addEventListener('abort', () => resolve([]), { once: true });
  });
  return Promise.race([late, asked(of, flags, signal).catch(() => [])]);
}

async function asked(of: Live, flags: ClusterFlags, signal: AbortSignal): Promise<readonly string[]> {
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
