import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generator, scheduler, seeds, virtualClock, withSeed } from '@drydock/model';
import type { Credentials } from '../soap/call.ts';
import { simulatedFault } from '../testing/fault.ts';
import { type LoginBudget, loginBudget } from './login-budget.ts';
import type { LoginNote, LoginNotes } from './login-notes.ts';

const FILE = 'packages/vsphere/src/session/login-budget.model.test.ts';
const MINUTE = 60_000;

interface Story {
  readonly processes: number;
  /** Passwords that the Secret has, one after the other. */
  readonly secret: readonly string[];
  readonly right: string;
  /** Processes share their notes. */
  readonly shares: boolean;
}

interface Told {
  readonly refused: ReadonlyMap<string, readonly number[]>;
  readonly letIn: number;
  /** Logins that were let in although it took more than a minute of waiting. */
  readonly late: number;
  readonly notes: readonly LoginNote[];
}

/**
 * Processes with two roles each, every role with a session of SOAP and one of REST and with a view of the Secret of its own, which follows late. Sessions are killed as soon as they are
 * there, so everybody logs in all the time.
 */
async function play(seed: number, { processes, secret, right, shares }: Story): Promise<Told> {
  const clock = virtualClock();
  const random = generator(seed);
  const world = scheduler(seed, clock);
  const refused = new Map<string, number[]>();
  let notes: readonly LoginNote[] = [];
  let letIn = 0;
  let late = 0;
  const store: LoginNotes = {
    read: async () => {
      await world.turn();
      if (!shares) throw new Error('forbidden');
      return notes;
    },
    change: async (_server, _user, next) => {
      if (!shares) throw new Error('forbidden');
      for (;;) {
        const before = notes;
        const after = next(before);
        await world.turn();
        if (before !== notes) continue;
        notes = after;
        await world.turn();
        return;
      }
    },
  };
  const role = (budget: LoginBudget) => async (): Promise<void> => {
    // One view of the Secret, two sessions with it.
    let view = 0;
    const session = async (): Promise<void> => {
      for (let round = 0; round < 8; round += 1) {
        await world.turn();
        if (view < secret.length - 1 && random() < 0.3) view += 1;
        const password = secret[view] ?? '';
        const version = { origin: 'Secret kube-system/vsphere-creds', id: String(view) };
        const who: Credentials = { user: 'drydock', password, version };
        const began = clock.now();
        const login = async (): Promise<void> => {
          for (let steps = Math.floor(random() * 6); steps >= 0; steps -= 1) await world.turn();
          if (password === right) return;
          refused.set(password, [...(refused.get(password) ?? []), clock.now()]);
          throw simulatedFault('InvalidLogin', 'Login', 'vc1');
        };
        await budget.attempt('vc1', who, login).then(
          () => {
            letIn += 1;
            if (clock.now() - began > MINUTE) late += 1;
          },
          () => undefined,
        );
      }
    };
    await Promise.all([session(), session()]);
  };
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    clock.sleep(ms, signal === undefined ? {} : { signal });
  await world.run(
    Array.from({ length: processes }, () => loginBudget({ notes: store, date: clock.now, sleep })).flatMap((budget) => [
      role(budget),
      role(budget),
    ]),
  );
  return { refused, letIn, late, notes };
}

const most = ({ refused }: Told): number => Math.max(0, ...refused.values().map((times) => times.length));

test('SAFE-5 two roles in each of several processes, SOAP and REST, while the Secret changes and comes back: no version of a password is refused more than twice', async () => {
  let tried = 0;
  const together = (): void => assert.ok(tried > 0, 'what is promised is also reached');
  for (const seed of seeds(200, 20_000, 'seeds', together)) {
    await withSeed(seed, FILE, async () => {
      for (const secret of [['A'], ['A', 'right'], ['A', 'B', 'A'], ['A', 'B', 'right', 'A']]) {
        const told = await play(seed, { processes: 2 + (seed % 2), secret, right: 'right', shares: true });
        for (const [password, times] of told.refused) {
          // Whoever sees a Secret with it for the first time cannot know that it is the one from before.
          const versions = secret.filter((one) => one === password).length;
          assert.ok(times.length <= 2 * versions, `${secret.join(' ')}: ${JSON.stringify([...told.refused])}`);
        }
        tried += most(told) === 2 ? 1 : 0;
      }
    });
  }
});

test('SAFE-5 whoever is let in waits for nobody: a right password takes every session of every process in, and leaves no note', async () => {
  for (const seed of seeds(100, 5_000)) {
    await withSeed(seed, FILE, async () => {
      const told = await play(seed, { processes: 3, secret: ['right'], right: 'right', shares: true });
      assert.deepEqual({ ...told, refused: told.refused.size }, { refused: 0, letIn: 96, late: 0, notes: [] });
    });
  }
});

test('SAFE-5 control: processes that share nothing show it twice each', async () => {
  const told = await play(1, { processes: 2, secret: ['A'], right: 'right', shares: false });
  assert.equal(most(told), 4);
});
