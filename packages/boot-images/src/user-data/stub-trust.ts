import { ConfigMap, Secret } from '@drydock/api';
import { type Client, isNotFound, keyText } from '@drydock/kube';
import { BootImageError, errorText, orUndefined } from '../errors.ts';
import type { ImageFacts } from '../image-facts.ts';
import type { World } from '../observe/world.ts';
import type { StubTrust, Untrusted } from '../stub-authority.ts';
import { type AskServer, addressText, askMachineConfigServer, isOwnServer } from './machine-config-server.ts';
import { keptFor } from './old-stub.ts';
import { certificatesIn, type StubSource, stubSourceOf } from './stub-source.ts';
import { judgeStub, type Published } from './stub-verdict.ts';
import { userDataOf } from './user-data.ts';

/** Where machine-config-operator publishes the authorities of machine-config-server; before it had a signer of its own, that was the root authority of the cluster. Both are public, and neither has a key. */
const authorityConfigMaps = [
  { namespace: 'openshift-machine-config-operator', name: 'machine-config-server-ca', key: 'ca-bundle.crt' },
  { namespace: 'kube-system', name: 'root-ca', key: 'ca.crt' },
] as const;

/** What is asked about the trust of stubs. */
export interface StubTrustPorts {
  readonly client: Pick<Client, 'get'>;
  readonly world: Pick<World, 'infrastructure'>;
  readonly now: () => Date;
  /** Monotonic ms. Default: the machine's. */
  readonly elapsed?: (() => number) | undefined;
  /** Default: over the network. */
  readonly askServer?: AskServer | undefined;
}

/** What one process remembers of stubs, by Secret. */
export type StubTrustMemory = Map<string, { readonly until: number; readonly trust: Promise<StubTrust | undefined> }>;

/** For so long (ms) a good verdict, and any other, is not looked at again; a change of the Secret is looked at at once. */
const TRUSTED_MS = 600_000;
const DOUBTED_MS = 60_000;
/** More than there are Secrets of stubs. */
const MOST = 1_000;

type Call = { readonly signal?: AbortSignal | undefined };
type SecretKey = { readonly namespace: string; readonly name: string };

/**
 * Whether machines with this stub trust machine-config-server; undefined where the stub fetches nothing by https. It never rejects but with the signal's reason: what cannot be read makes the
 * answer unknown, and stops nothing that went before.
 */
export async function stubTrust(
  key: SecretKey,
  ports: StubTrustPorts,
  memory: StubTrustMemory,
  call: Call,
): Promise<StubTrust | undefined> {
  const { elapsed = () => performance.now() } = ports;
  const id = keyText(key);
  const known = memory.get(id);
  if (known !== undefined && elapsed() < known.until) return known.trust;
  const trust = look(key, ports, call);
  if (memory.size >= MOST) memory.clear();
  memory.set(id, { until: elapsed() + DOUBTED_MS, trust });
  try {
    const found = await trust;
    // The Secret may have changed meanwhile: then this is what it was.
    if (found?.status === 'True' && memory.get(id)?.trust === trust)
      memory.set(id, { until: elapsed() + TRUSTED_MS, trust });
    return found;
  } catch (error) {
    if (memory.get(id)?.trust === trust) memory.delete(id);
    throw error;
  }
}

async function look(key: SecretKey, ports: StubTrustPorts, call: Call): Promise<StubTrust | undefined> {
  const { client, world, now, askServer = askMachineConfigServer } = ports;
  const secret = await read(client.get(Secret, key, call), call);
  if (secret instanceof Error) {
    const message = `whether the stub in secret ${keyText(key)} trusts machine-config-server is not known: ${errorText(secret)}`;
    return { status: 'Unknown', reason: 'StubAuthorityUnknown', message };
  }
  const source = stubSourceOf(userDataOf(secret));
  if (source === undefined) return undefined;
  const own = isOwnServer(
    source.url,
    orUndefined(() => world.infrastructure()),
  );
  const [presented, published] = own
    ? await Promise.all([askServer(source.url, source.authorities, call), publishedAuthorities(client, call)])
    : [unasked, otherServer(source)];
  const trust = judgeStub({ secret: keyText(key), source, presented, published, now: now() });
  if (trust.nextStep === undefined || keptFor(secret) === undefined) return trust;
  const nextStep = `secret ${keyText(key)} keeps an old stub and is immutable; unpin the machine set, so that it leaves that stub: drydock image release SET`;
  return { ...trust, nextStep };
}

const unasked = { kind: 'unseen', why: 'it is not asked' } as const;

function otherServer({ url }: StubSource): Published {
  return {
    kind: 'unknown',
    why: `its configuration comes from ${addressText(url)}, which is not where the cluster has machine-config-server`,
  };
}

/** The authorities that the cluster publishes now. */
async function publishedAuthorities(client: Pick<Client, 'get'>, call: Call): Promise<Published> {
  for (const { key, ...of } of authorityConfigMaps) {
    const found = await read(client.get(ConfigMap, of, call), call);
    if (found instanceof Error && isNotFound(found)) continue;
    if (found instanceof Error) return { kind: 'unknown', why: errorText(found) };
    const { certificates, more } = certificatesIn(found.data?.[key] ?? '');
    if (more) return { kind: 'unknown', why: `configmap ${keyText(of)} has too many certificates` };
    return { kind: 'published', in: `configmap ${keyText(of)}`, authorities: certificates };
  }
  const names = authorityConfigMaps.map((of) => keyText(of)).join(' and ');
  return { kind: 'unknown', why: `neither of configmaps ${names} is there` };
}

async function read<T>(reading: Promise<T>, { signal }: Call): Promise<T | Error> {
  try {
    return await reading;
  } catch (error) {
    signal?.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The error of a set whose machines cannot join. */
export function cannotJoin(trust: Untrusted, facts: ImageFacts): BootImageError {
  const { reason, message, nextStep } = trust;
  return new BootImageError(reason, message, {
    ...{ retriable: false, facts },
    ...(nextStep === undefined ? {} : { nextStep }),
  });
}
