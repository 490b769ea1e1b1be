import { Secret } from '@drydock/api';
import { type Client, ifFound, isForbidden, keyOf } from '@drydock/kube';
import { orUndefined } from '../errors.ts';
import { type KeptSet, keptSets, setText } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import { imageOf } from '../status/boot-image-store.ts';
import { convertStub } from '../user-data/ignition.ts';
import { machineApiNamespace } from '../user-data/machine-api.ts';
import {
  firstUse,
  isBefore,
  keptFor,
  keptName,
  oldStubName,
  sealOldStub,
  upgradedAtAnnotation,
} from '../user-data/old-stub.ts';
import { userDataOf, userDataSecret } from '../user-data/user-data.ts';
import { revertGoal } from '../way-back/goal.ts';
import { livePin } from '../way-back/pin.ts';
import type { PassPorts } from './pass-state.ts';

/** How often (ms) an old stub is looked at: that one is needed no longer costs a few kilobytes, and a look a read. */
const LOOK_MS = 3_600_000;

type Call = { readonly signal?: AbortSignal | undefined };

/**
 * Deletes old stubs one generation later: when no machine set names one, and none would go back to an image of before the conversion, by its pin or
 * by a revert. An old stub that a crash left without its seal is sealed. `looked`: when each was looked at, by the clock of `elapsed`.
 */
export async function collectOldStubs(
  ports: Pick<PassPorts, 'client' | 'world' | 'now' | 'elapsed' | 'event' | 'warn'>,
  looked: Map<string, number>,
  call: Call,
): Promise<void> {
  const { world, elapsed = () => performance.now() } = ports;
  const sets = keptSets(world);
  const bySecret = Map.groupBy(sets, (set) => convertedName(set) ?? '');
  for (const secret of looked.keys()) if (!bySecret.has(secret)) looked.delete(secret);
  for (const [secret, users] of bySecret) {
    const last = looked.get(secret);
    if (secret === '' || (last !== undefined && elapsed() - last < LOOK_MS)) continue;
    looked.set(secret, elapsed());
    try {
      await lookAt(secret, users, ports, call);
    } catch (error) {
      call.signal?.throwIfAborted();
      // Whoever may not read an old stub has made none.
      if (!isForbidden(error)) ports.warn(`the old stub of secret ${secret} could not be collected`, error);
    }
  }
}

async function lookAt(
  secret: string,
  users: readonly KeptSet[],
  { client, world, now, event }: Pick<PassPorts, 'client' | 'world' | 'now' | 'event'>,
  call: Call,
): Promise<void> {
  const [set] = users;
  const name = oldStubName(secret);
  const kept = await read(client, name, call);
  if (set === undefined || kept?.data?.['userData'] === undefined || keptFor(kept) !== secret) return;
  const own = await read(client, secret, call);
  // Without the converted stub it may be the only one that there is.
  if (own === undefined || orUndefined(() => convertStub(userDataOf(own), secret))?.kind !== 'current') return;
  const convertedAt = own.metadata.annotations?.[upgradedAtAnnotation];
  if (users.some((user) => userDataSecret(user) === name || mayGoBack(user, convertedAt, world, now().getTime()))) {
    await sealOldStub(client, kept, call);
    return;
  }
  const { uid = '', resourceVersion } = kept.metadata;
  const when = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  await client.delete(Secret, keyOf(kept), when, call);
  event(set, 'GarbageCollected', `secret ${name}: ${setText(set)} would go back to no image of before the conversion`);
}

/** Whether a set has, or would go back to, an image of before the conversion. One of which nothing is known may. */
function mayGoBack(
  set: KeptSet,
  convertedAt: string | undefined,
  world: Pick<World, 'bootImage'>,
  now: number,
): boolean {
  const image = world.bootImage(keyOf(imageOf(set)));
  const { history } = image?.status ?? {};
  if (history === undefined || convertedAt === undefined) return true;
  const inUse = history.find(({ until }) => until === undefined);
  return [inUse, revertGoal(image?.status), livePin(image, now)].some((to) => {
    const first = to === undefined ? undefined : firstUse(history, to);
    return first !== undefined && isBefore(history, first, convertedAt);
  });
}

/** The Secret whose stub is converted, of a set that names it or its old stub. */
function convertedName(set: KeptSet): string | undefined {
  const name = userDataSecret(set);
  return name === undefined ? undefined : (keptName(name) ?? name);
}

function read(client: Pick<Client, 'get'>, name: string, call: Call): Promise<Secret | undefined> {
  return ifFound(client.get(Secret, { namespace: machineApiNamespace, name }, call));
}
