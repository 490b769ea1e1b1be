import type { Payload } from '@drydock/api';
import { ReleaseError } from '../errors.ts';
import type { RollbackWish } from '../rollback/wish.ts';
import { targetOf } from '../state/target.ts';
import { isOlder } from '../state/versions.ts';
import { type Account, ownerName } from './face.ts';
import { loadRelease, type Retrieve } from './loaded-release.ts';
import { payloadFace } from './payload-face.ts';

/** A way that a Payload could be asked to go back, and in whose name. */
export interface PayloadWay {
  readonly wish: RollbackWish;
  readonly account: Account;
  /** Version of the API server that the older release brings; absent: the one that runs stays. */
  readonly kubernetes?: string;
}

/** Both ends of a way back, by what the history of a Payload says. Without a version it is the release before the newest one. Throws `ReleaseError` where the history has no such release, or it is not older. */
export async function payloadWay(
  payload: Payload,
  {
    to: version,
    accepted = [],
    retrieve,
    signal,
  }: {
    readonly to?: string | undefined;
    readonly accepted?: readonly string[];
    readonly retrieve: Retrieve;
    readonly signal: AbortSignal;
  },
): Promise<PayloadWay> {
  const owner = ownerName(payloadFace.resource, payload);
  const refused = (why: string): ReleaseError => new ReleaseError('NO_WAY_BACK', `${owner}: ${why}`);
  const wish = payloadFace.wishOf(payload);
  if (typeof wish === 'string') throw refused(wish);
  const { history } = payloadFace.recordOf(payload);
  const [head] = history;
  if (head === undefined) throw refused('nothing was applied yet');
  const before = history.find(({ state, image }) => state === 'Completed' && image !== head.image);
  const wanted = version ?? before?.version;
  if (wanted === undefined) throw refused('no release was complete here before this one');
  const target = targetOf({ version: wanted }, { history });
  if (target.kind !== 'release') throw refused(target.kind === 'none' ? 'nothing was applied yet' : target.message);
  if (target.image === head.image && head.state === 'Completed')
    throw refused(`${wanted} is the release that is there`);
  const from = target.image === head.image ? before : head;
  if (from === undefined || isOlder(wanted, from.version) !== true)
    throw refused(`${wanted} is not older than ${from?.version ?? head.version}`);
  const load = async (image: string) =>
    loadRelease(await retrieve(image, signal), image, wish, { enabled: [], running: undefined });
  const older = await load(target.image);
  if (older.payload.metadata.version !== wanted)
    throw refused(`the image of ${wanted} says that it is ${older.payload.metadata.version}`);
  const newer = await load(from.image);
  const { kubernetes } = older.payload;
  return {
    account: wish.account,
    ...(kubernetes === undefined ? {} : { kubernetes }),
    wish: {
      from: { payload: { version: from.version, image: from.image, hash: newer.hash }, manifests: newer.included },
      to: { payload: { version: wanted, image: target.image, hash: older.hash }, manifests: older.included },
      ...{ owner: { name: owner }, attempt: 0 },
      accepted: [...wish.acceptedRisks, ...accepted],
    },
  };
}
