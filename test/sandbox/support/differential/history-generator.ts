import { generator } from '@drydock/model';
import { pick } from './field-mutations.ts';
import type { ObjectKind, PlannedRequest, RequestUser } from './planned-request.ts';
import { get, list, watch } from './read-requests.ts';
import { binding, discovery, review } from './review-requests.ts';
import { isCovered, STATUS_REQUESTS, statusRequest, subresource } from './subresource-requests.ts';
import { create, type Pool, patch, remove, removeCollection, update } from './write-requests.ts';

// A history is 120 requests on few names of four kinds, so that requests meet what others left. Each kind has a deck of cards with every verb and type of patch, which is shuffled:
// that covers all of them soon, and in any order.

/** Requests of a history. */
export const HISTORY_LENGTH = 120;
/** Kinds that the requests of a history are about. */
export const KINDS_OF_A_HISTORY = 4;

type Card = (pool: Pool, kind: ObjectKind) => PlannedRequest | undefined;

const DECK: readonly Card[] = [
  (pool, kind) => create(pool, kind),
  (pool, kind) => create(pool, kind),
  (pool, kind) => create(pool, kind, 1),
  (pool, kind) => get(pool, kind),
  (pool, kind) => get(pool, kind, true),
  (pool, kind) => list(pool, kind),
  (pool, kind) => list(pool, kind, 'table'),
  (pool, kind) => list(pool, kind, 'pages'),
  (pool, kind) => update(pool, kind),
  (pool, kind) => update(pool, kind),
  (pool, kind) => patch(pool, kind, 'json'),
  (pool, kind) => patch(pool, kind, 'merge'),
  (pool, kind) => patch(pool, kind, 'strategic'),
  (pool, kind) => patch(pool, kind, 'apply'),
  (pool, kind) => patch(pool, kind, 'apply'),
  (pool, kind) => patch(pool, kind, 'application/json'),
  (pool, kind) => remove(pool, kind),
  removeCollection,
];

/** A kind's cards: each of its subresources is asked for a few times. */
function deckOf(kind: ObjectKind): readonly Card[] {
  const names = kind.subresources.map(({ name }) => name).filter(isCovered);
  const cards = names.flatMap((name): readonly Card[] => {
    if (name === 'status')
      return STATUS_REQUESTS.map(
        (how): Card =>
          (pool, of) =>
            statusRequest(pool, of, name, how),
      );
    return Array.from({ length: name === 'scale' ? 6 : 3 }, (): Card => (pool, of) => subresource(pool, of, name));
  });
  return [...DECK, ...cards];
}

/** The requests that follow from a seed. Successive seeds go round the kinds. */
export function historyOf(seed: number, kinds: readonly ObjectKind[]): readonly PlannedRequest[] {
  const random = generator(seed);
  const chosen = Array.from(
    { length: KINDS_OF_A_HISTORY },
    (_, at) => kinds[(seed * KINDS_OF_A_HISTORY + at) % kinds.length],
  ).filter((kind) => kind !== undefined);
  const pool: Pool = { random, kinds: chosen };
  const cards = chosen.flatMap((kind) => deckOf(kind).map((card) => ({ kind, card })));
  const requests: PlannedRequest[] = chosen.flatMap((kind) => [create(pool, kind, 0), create(pool, kind, 0)]);
  for (const { kind, card } of shuffled(random, cards)) {
    const request = verbAllowed(kind, card(pool, kind));
    if (request !== undefined) requests.push(inNameOf(random, request));
  }
  const others: PlannedRequest[] = [discovery(pool), review(pool), review(pool), watch(pool, pick(random, chosen))];
  if (chosen.some(({ group, plural }) => group === '' && plural === 'pods')) others.push(binding(pool));
  requests.length = Math.min(requests.length, HISTORY_LENGTH - others.length);
  for (const other of others) requests.splice(Math.floor(random() * requests.length), 0, other);
  while (requests.length < HISTORY_LENGTH) {
    const request = verbAllowed(...cardOf(pool));
    if (request !== undefined) requests.push(inNameOf(random, request));
  }
  return requests.slice(0, HISTORY_LENGTH);
}

function cardOf(pool: Pool): [ObjectKind, PlannedRequest | undefined] {
  const kind = pick(pool.random, pool.kinds);
  return [kind, pick(pool.random, deckOf(kind))(pool, kind)];
}

/** A kind without collections of its own to delete is asked all the same one time in ten: the answer is 405. */
function verbAllowed(kind: ObjectKind, request: PlannedRequest | undefined): PlannedRequest | undefined {
  if (request === undefined || kind.verbs.includes(request.verb) || request.kind.split('/').length > 2) return request;
  return request.path.length % 10 === 0 ? request : undefined;
}

function inNameOf(random: () => number, request: PlannedRequest): PlannedRequest {
  if (random() >= 0.1) return request;
  return { ...request, user: pick<RequestUser>(random, ['reader', 'editor', 'nobody']) };
}

function shuffled<T>(random: () => number, list: readonly T[]): readonly T[] {
  const all = [...list];
  for (let at = all.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [all[at], all[other]] = [all[other] as T, all[at] as T];
  }
  return all;
}
