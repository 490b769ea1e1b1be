import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Credentials } from '../soap/call.ts';
import { simulatedFault } from '../testing/fault.ts';
import { type LoginBudgetOptions, loginBudget } from './login-budget.ts';
import { isTold, LOGIN_MS, type LoginNote, type LoginNotes, lateText, readLoginNotes } from './login-notes.ts';

const MINUTE = 60_000;
const secret = (password: string, id: string, asked?: string): Credentials => ({
  user: 'Drydock@vsphere.local',
  password,
  version: { origin: 'Secret kube-system/vsphere-creds', id, ...(asked === undefined ? {} : { asked }) },
});

/** A vCenter that counts, and what its processes share. */
function world() {
  let notes: readonly LoginNote[] = [];
  const made = {
    now: Date.parse('2026-03-01T10:00:00Z'),
    right: 'right',
    up: true,
    shown: [] as number[],
    shares: true,
    get notes(): readonly LoginNote[] {
      return notes;
    },
    sleep: async (ms: number): Promise<void> => {
      made.now += ms;
    },
    store: {
      read: async () => {
        if (!made.shares) throw new Error('forbidden');
        return notes;
      },
      change: async (_server, _user, next) => {
        if (!made.shares) throw new Error('forbidden');
        notes = next(notes);
      },
    } satisfies LoginNotes as LoginNotes,
    process: (options: LoginBudgetOptions = {}) => {
      const budget = loginBudget({ notes: made.store, date: () => made.now, sleep: made.sleep, ...options });
      return async (who: Credentials): Promise<string> =>
        budget
          .attempt('vc1', who, async () => {
            if (!made.up) throw new Error('unreachable');
            made.shown.push(made.now);
            if (who.password !== made.right) throw simulatedFault('InvalidLogin', 'Login', 'vc1');
            return 'in';
          })
          .catch((error: Error & { code?: string }) => error.code ?? error.message);
    },
  };
  return made;
}

test('SAFE-5 a wrong password for an hour, asked for every second by two roles of two processes: two refusals, then one in 30 minutes for all', async () => {
  const vc = world();
  const roles = [vc.process(), vc.process()].flatMap((process) => [process, process]);
  const began = vc.now;
  for (let second = 0; second < 3600; second += 1) {
    await Promise.all(roles.map((login) => login(secret('wrong', '1'))));
    vc.now += 1000;
  }
  const minutes = vc.shown.map((at) => Math.floor((at - began) / MINUTE));
  // Both processes may show it before either knows.
  assert.deepEqual(minutes, [0, 0, 30]);
  const [note] = vc.notes;
  assert.deepEqual([vc.notes.length, note?.refusals, note?.last.slice(0, 19)], [1, 3, '2026-03-01T10:30:00']);
  assert.doesNotMatch(JSON.stringify(vc.notes), /wrong/);
  assert.equal(
    lateText(note as LoginNote),
    'vc1 refused Drydock@vsphere.local with the password of Secret kube-system/vsphere-creds 3 times, last at 2026-03-01T10:30:00Z; the next attempt is due at 2026-03-01T11:00:00Z',
  );
});

test('SAFE-5 control: each role with a budget of its own shows it twice as often', async () => {
  const vc = world();
  vc.shares = false;
  for (const login of [vc.process(), vc.process()]) for (let n = 0; n < 5; n += 1) await login(secret('wrong', '1'));
  assert.equal(vc.shown.length, 4);
});

test('SAFE-5 another Secret is tried at once, and so is the same one when a person says so; one that is written again with the same password is not', async () => {
  const vc = world();
  const login = vc.process();
  for (let n = 0; n < 3; n += 1) await login(secret('wrong', '1'));
  assert.equal(await login(secret('wrong', '2')), 'VIM_LOGIN_WITHHELD');
  assert.equal(vc.shown.length, 2);
  assert.equal(await vc.process()(secret('wrong', '2')), 'VIM_LOGIN_WITHHELD', 'others know it by its new name');
  assert.equal(await login(secret('wrong', '3', 'now')), 'VIM_LOGIN_REFUSED');
  assert.equal(vc.shown.length, 3);
  assert.equal(await login(secret('right', '4')), 'in');
  assert.deepEqual(vc.notes.filter(isTold), [], 'what was replaced is told no more');
});

test('SAFE-5 a password that is right again heals by itself, for all processes', async () => {
  const vc = world();
  const [one, two] = [vc.process(), vc.process()];
  for (let n = 0; n < 3; n += 1) await one(secret('same', '1'));
  vc.right = 'same';
  assert.equal(await two(secret('same', '1')), 'VIM_LOGIN_WITHHELD');
  vc.now += 31 * MINUTE;
  assert.deepEqual([await two(secret('same', '1')), await one(secret('same', '1'))], ['in', 'in']);
  assert.deepEqual(vc.notes, []);
});

test('SAFE-5 a process that dies of a login has made it; one that did not reach the server has not', async () => {
  const vc = world();
  const login = vc.process();
  await login(secret('wrong', '1'));
  vc.up = false;
  for (let n = 0; n < 3; n += 1) assert.equal(await login(secret('wrong', '1')), 'unreachable');
  assert.deepEqual(
    vc.notes.map((note) => note.refusals),
    [1],
  );
  vc.up = true;
  const dying = loginBudget({ notes: vc.store, date: () => vc.now });
  void dying.attempt('vc1', secret('wrong', '1'), () => new Promise(() => undefined));
  while (vc.notes[0]?.underway?.length !== 1) await new Promise<void>((resolve) => setImmediate(resolve));
  const asked = vc.now;
  assert.equal(await vc.process()(secret('wrong', '1')), 'VIM_LOGIN_WITHHELD');
  assert.equal(vc.now - asked, LOGIN_MS, 'it waited for the answer that never came');
  assert.equal(vc.shown.length, 1);
});

test('SAFE-5 a process that dies of its login with a password that nobody refused keeps nobody out', async () => {
  const vc = world();
  for (let n = 0; n < 2; n += 1)
    void loginBudget({ notes: vc.store, date: () => vc.now }).attempt(
      'vc1',
      secret('right', '1'),
      () => new Promise(() => undefined),
    );
  while (vc.notes[0]?.underway?.length !== 2) await new Promise<void>((resolve) => setImmediate(resolve));
  const asked = vc.now;
  assert.equal(await vc.process()(secret('right', '1')), 'in');
  assert.equal(vc.now - asked, LOGIN_MS);
  assert.deepEqual(vc.notes, []);
});

test('SAFE-5 a password that comes back has what it had; one that was replaced is told no more', async () => {
  const vc = world();
  const login = vc.process();
  for (let n = 0; n < 3; n += 1) await login(secret('wrong', '1'));
  assert.equal(await login(secret('right', '2')), 'in');
  assert.deepEqual(vc.notes.map(isTold), [false]);
  assert.equal(await login(secret('wrong', '3')), 'VIM_LOGIN_WITHHELD');
  assert.equal(vc.shown.length, 3);
});

test('SAFE-5 who only looks tries once where nobody tried, and never where somebody else counts', async () => {
  const vc = world();
  const look: LoginBudgetOptions = { attempts: 1, others: vc.store, notes: world().store };
  for (let n = 0; n < 3; n += 1) await vc.process(look)(secret('wrong', '1'));
  assert.equal(vc.shown.length, 1);
  await vc.process()(secret('wrong', '1'));
  vc.now += 31 * MINUTE;
  assert.equal(await vc.process({ ...look, notes: world().store })(secret('wrong', '1')), 'VIM_LOGIN_WITHHELD');
  assert.equal(vc.shown.length, 2);
  assert.equal(await vc.process({ ...look, now: true })(secret('wrong', '1')), 'VIM_LOGIN_REFUSED');
});

test('SAFE-5 what cannot be shared is counted by the process itself', async () => {
  const vc = world();
  vc.shares = false;
  const login = vc.process();
  for (let n = 0; n < 5; n += 1) await login(secret('wrong', '1'));
  assert.equal(vc.shown.length, 2);
  vc.shares = true;
  assert.equal(await login(secret('wrong', '1')), 'VIM_LOGIN_WITHHELD', 'a store without it says nothing of it');
  vc.right = 'wrong';
  vc.now += 31 * MINUTE;
  assert.equal(await login(secret('wrong', '1')), 'in');
});

test('SAFE-5 a note that somebody has made count backwards is none', () => {
  const note = { server: 's', user: 'u', origin: 'o', versions: [], refusals: -5, last: '2026-01-01T00:00:00Z' };
  assert.deepEqual(readLoginNotes(JSON.stringify([note])), []);
  assert.equal(readLoginNotes(JSON.stringify([{ ...note, refusals: 2 }])).length, 1);
});
