import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VimError } from '../errors.ts';
import type { Credentials } from '../soap/call.ts';
import { simulatedFault } from '../testing/fault.ts';
import { type LoginBudgetOptions, loginBudget } from './login-budget.ts';
import {
  isTold,
  LOGIN_MS,
  type LoginNote,
  type LoginNotes,
  lateText,
  loginAccount,
  readLoginNotes,
} from './login-notes.ts';

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
    /** Answers are lost. */
    loses: false,
    shown: [] as number[],
    shares: true,
    get notes(): readonly LoginNote[] {
      return notes;
    },
    set notes(written: readonly LoginNote[]) {
      notes = written;
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
            if (made.loses)
              throw new VimError({ kind: 'timeout', code: 'VIM_TIMEOUT', op: 'Login', message: 'no answer' });
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
  vc.now += 181_000;
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

const WINDOW = 180_000;
/** The most that a vCenter was shown within any three minutes. */
const most = (shown: readonly number[]): number =>
  Math.max(0, ...shown.map((from) => shown.filter((at) => at >= from && at - from <= WINDOW).length));

test('FIND-1: ten wrong passwords in turn, shown by two roles of two processes that restart, cost three refusals in any 180 s', async () => {
  const vc = world();
  for (let second = 0; second < 1200; second += 1) {
    const who = secret('wrong', `${Math.floor(second / 60)}`);
    const wrong = { ...who, password: `wrong ${who.version?.id}` };
    await Promise.all([vc.process(), vc.process()].flatMap((login) => [login(wrong), login(wrong)]));
    vc.now += 1000;
  }
  assert.equal(most(vc.shown), 3);
  assert.ok(vc.shown.length > 15, `${vc.shown.length}: each window is used`);
});

test('FIND-1: a person who asks for it may use the fourth, and is told then when the next attempt is possible', async () => {
  const vc = world();
  const now = (id: string): Promise<string> => vc.process({ now: true })(secret(`wrong ${id}`, id));
  for (const id of ['1', '2', '3']) assert.equal(await vc.process()(secret('wrong', id)), 'VIM_LOGIN_REFUSED');
  assert.equal(await vc.process()(secret('wrong', '4')), 'VIM_LOGIN_LIMIT');
  vc.now += 10_000;
  assert.deepEqual(
    [await now('5'), await now('5'), await now('6')],
    [...['VIM_LOGIN_REFUSED', 'VIM_LOGIN_LIMIT', 'VIM_LOGIN_LIMIT']],
  );
  const budget = loginBudget({ notes: vc.store, date: () => vc.now, now: true });
  const error = await budget.attempt('vc1', secret('right', '7'), async () => undefined).catch((thrown) => thrown);
  assert.ok(error instanceof VimError && !error.sent);
  assert.match(
    error.message,
    /vc1 refused or did not answer 4 logins of Drydock@vsphere\.local within three minutes, and five refusals lock an account; the next attempt is possible at 2026-03-01T10:03:01Z/,
  );
  assert.equal(error.retryAfterMs, 171_000);
  vc.now += 171_000;
  assert.deepEqual([await now('8'), await now('9')], ['VIM_LOGIN_REFUSED', 'VIM_LOGIN_REFUSED']);
  assert.equal(await now('10'), 'VIM_LOGIN_REFUSED');
  assert.equal(await now('11'), 'VIM_LOGIN_LIMIT');
  assert.equal(most(vc.shown), 4);
});

test('FIND-1: an annotation asks once, whatever password comes after it and whoever restarts', async () => {
  const vc = world();
  for (const id of ['1', '2', '3']) await vc.process()(secret('wrong', id));
  const asked = (id: string): Promise<string> => vc.process()(secret(`wrong ${id}`, id, 'please'));
  assert.deepEqual(
    [await asked('4'), await asked('4'), await asked('5')],
    [...['VIM_LOGIN_REFUSED', 'VIM_LOGIN_WITHHELD', 'VIM_LOGIN_LIMIT']],
  );
  vc.now += 181_000;
  const login = vc.process();
  for (const id of ['6', '7', '8', '9']) await login(secret(`wrong ${id}`, id, 'please'));
  assert.equal(vc.shown.length, 7);
  assert.doesNotMatch(JSON.stringify(vc.notes), /please/);
});

test('FIND-1: a new password is tried at once, and once only', async () => {
  const vc = world();
  const login = vc.process();
  await login(secret('wrong', '1'));
  for (let n = 0; n < 5; n += 1) await login(secret('wrong as well', '2'));
  assert.equal(vc.shown.length, 2);
  vc.now += 29 * MINUTE;
  assert.equal(await login(secret('wrong as well', '2')), 'VIM_LOGIN_WITHHELD');
  vc.now += MINUTE;
  assert.equal(await login(secret('wrong as well', '2')), 'VIM_LOGIN_REFUSED');
});

test('FIND-1: one account has one ceiling, however its name is written', async () => {
  const vc = world();
  const names = ['drydock@vsphere.local', 'VSPHERE.LOCAL\\drydock', 'Drydock@VSphere.local'];
  for (const [n, user] of names.entries())
    assert.equal(await vc.process()({ ...secret('wrong', `${n}`), user }), 'VIM_LOGIN_REFUSED');
  const who = { ...secret('right', '4'), user: 'vsphere.local\\DRYDOCK' };
  assert.equal(await vc.process()(who), 'VIM_LOGIN_LIMIT');
  assert.deepEqual(['a\\b\\c', 'a@b', 'A', ''].map(loginAccount), ['b\\c@a', 'a@b', 'a', '']);
});

test('FIND-1: refusals outlive a success and a store that loses them', async () => {
  const vc = world();
  const login = vc.process();
  await login(secret('wrong', '1'));
  await login(secret('same', '2'));
  vc.right = 'same';
  vc.now += 1000;
  assert.equal(await vc.process({ now: true })(secret('same', '2')), 'in');
  vc.right = 'other';
  assert.equal(await vc.process()(secret('same', '2')), 'VIM_LOGIN_REFUSED');
  assert.equal(await vc.process()(secret('wrong', '3')), 'VIM_LOGIN_LIMIT');
  vc.now += 181_000;
  for (const id of ['4', '5', '6']) await login(secret(`wrong ${id}`, id));
  vc.notes = [];
  for (let n = 10; n < 40; n += 1) assert.equal(await login(secret(`wrong ${n}`, `${n}`)), 'VIM_LOGIN_LIMIT');
});

test('FIND-1: logins whose answers are lost, or whose processes die, count until the password is let in', async () => {
  const vc = world();
  vc.loses = true;
  for (let n = 0; n < 3; n += 1) assert.equal(await vc.process()(secret('right', '1')), 'VIM_TIMEOUT');
  vc.loses = false;
  assert.equal(await vc.process()(secret('right', '1')), 'VIM_LOGIN_LIMIT');
  vc.now += 181_000;
  assert.equal(await vc.process()(secret('right', '1')), 'in');
  assert.deepEqual(vc.notes, []);
  const proven = vc.process();
  assert.equal(await proven(secret('right', '1')), 'in');
  vc.loses = true;
  for (let n = 0; n < 9; n += 1) assert.equal(await proven(secret('right', '1')), 'VIM_TIMEOUT');
  vc.loses = false;
  for (let n = 0; n < 3; n += 1) {
    const dying = loginBudget({ notes: vc.store, date: () => vc.now });
    void dying.attempt('vc1', secret('other', `${n}`), () => new Promise(() => undefined));
  }
  while (vc.notes.length < 3) await new Promise<void>((resolve) => setImmediate(resolve));
  const asked = vc.now;
  assert.equal(await vc.process()(secret('right', '1')), 'VIM_LOGIN_LIMIT');
  assert.equal(vc.now - asked, LOGIN_MS, 'it waits for their answers, and nobody knows them');
});

test('FIND-1: refusals that version 0.1.0 noted, or a process whose notes are only read, count', async () => {
  const vc = world();
  const last = new Date(vc.now - 1000).toISOString();
  const written = { server: 'vc1', user: 'drydock@vsphere.local', origin: 'o', versions: ['old'], refusals: 3, last };
  vc.notes = readLoginNotes(JSON.stringify([written]));
  assert.equal(await vc.process()(secret('right', '1')), 'VIM_LOGIN_LIMIT');
  const reading = { notes: world().store, others: vc.store, attempts: 1 };
  assert.equal(await vc.process(reading)(secret('right', '1')), 'VIM_LOGIN_LIMIT');
  vc.now += 180_000;
  assert.equal(await vc.process(reading)(secret('right', '1')), 'in');
  assert.equal(await vc.process()(secret('right', '1')), 'in');
});

test('FIND-1: what a clock that is ahead noted holds nobody for longer than its own', async () => {
  const vc = world();
  vc.now += 60 * MINUTE;
  for (const id of ['1', '2', '3']) await vc.process()(secret('wrong', id));
  vc.now -= 60 * MINUTE;
  assert.equal(await vc.process()(secret('right', '4')), 'VIM_LOGIN_LIMIT');
  vc.now += 181_000;
  assert.equal(await vc.process()(secret('right', '4')), 'in');
});
