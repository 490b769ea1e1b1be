import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { generator, seeds, withSeed } from '@drydock/model';
import { type Format, SECRET } from './format.ts';
import { FORMATS } from './formats.ts';
import { mutant } from './mutate.ts';

/** Longer than any sentence that a person reads; texts from elsewhere are cut where they enter. */
const LONGEST = 2_500;
/** The event loop is held for no longer (ms), whatever a text of this size has in it. */
const STRETCH = 200;
/** What is left on the heap after all of them: caches fill, and nothing grows with their number. */
const LEFT = 24 * 2 ** 20;

type Outcome = 'read' | 'refused';

/** Reads one text and holds the reader to what it owes: a value that says what the text says, or a refusal with a name, which is short and keeps secrets. */
async function judged(format: Format, bytes: Buffer): Promise<Outcome> {
  let value: unknown;
  try {
    value = await format.read(bytes);
  } catch (error) {
    assert.ok(
      format.refuses(error),
      `it is not refused, something else is thrown: ${(error as Error).stack ?? String(error)}`,
    );
    assertTold(format, error as Error & { readonly next?: unknown; readonly nextStep?: unknown });
    return 'refused';
  }
  await format.check(value, bytes);
  return 'read';
}

function assertTold({ spoken }: Format, error: Error & { readonly next?: unknown; readonly nextStep?: unknown }): void {
  const { message, next, nextStep } = error;
  const said = [message, next, nextStep].filter((text) => typeof text === 'string').join('\n');
  assert.ok(message.length > 10, `what is wrong, and with what: ${JSON.stringify(message)}`);
  assert.ok(said.length <= LONGEST, `${said.length} characters: ${said.slice(0, 300)}…`);
  if (spoken === undefined) assert.doesNotMatch(message, /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    assert.ok(!`${at.message}${said}`.includes(SECRET), `it tells the secret: ${at.message.slice(0, 300)}`);
}

/** Judges one text. What took long is read again, by the CPU time of this thread, since somebody else may have had the machine. */
async function timed(format: Format, bytes: Buffer): Promise<Outcome> {
  const started = performance.now();
  const outcome = await judged(format, bytes);
  let took = performance.now() - started;
  for (let again = 0; again < 4 && took > STRETCH; again += 1) took = Math.min(took, await readingTime(format, bytes));
  assert.ok(took <= STRETCH, `${bytes.length} bytes took ${took.toFixed(0)} ms`);
  return outcome;
}

async function readingTime(format: Format, bytes: Buffer): Promise<number> {
  const from = await cpuTime();
  try {
    await format.read(bytes);
  } catch {
    // It has been judged.
  }
  return (await cpuTime()) - from;
}

/** Milliseconds. After a sleep, because it is brought up to date when the thread is put aside. */
async function cpuTime(): Promise<number> {
  await sleep(1);
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

for (const format of FORMATS)
  test(`SAFE-1 ${format.name}: whatever is done to them, they are read as what they say, or refused in a few words without a secret`, async () => {
    for (const example of format.examples) await judged(format, Buffer.from(example));
    const before = heap();
    const count: Record<Outcome, number> = { read: 0, refused: 0 };
    for (const seed of seeds(10_000, 1_000_000, format.name))
      await withSeed(seed, 'test/foreign/fuzz.test.ts', async () => {
        count[await timed(format, mutant(format, generator(seed)))] += 1;
      });
    const left = heap() - before;
    assert.ok(left < LEFT, `${left} bytes are left of ${count.read + count.refused} texts`);
    if (process.env['DRYDOCK_SEED'] !== undefined) return;
    const said = `${count.read} read, ${count.refused} refused: the mutants prove nothing`;
    const least = (count.read + count.refused) / 100;
    assert.ok(count.read >= least && (format.takesAll === true || count.refused >= least), said);
  });

/** A reader with one fault, which the same judgement must find. */
function faulty(fault: Partial<Format>): Format {
  const good: Format<string> = {
    name: 'letters',
    examples: [`a=${SECRET}`, 'b=1'],
    pieces: ['=', ';'],
    nest: ['(', ')'],
    read: (bytes) => {
      if (bytes.includes(';')) throw new RangeError('there is a semicolon in it');
      return bytes.toString();
    },
    refuses: (error) => error instanceof RangeError,
    check: (value, bytes) => assert.equal(value, bytes.toString()),
  };
  return { ...(good as Format), ...fault };
}

test('SAFE-1 negative control: another error, a long one, one with the secret, and a value that is another are each found', async () => {
  const texts = Array.from({ length: 300 }, (_, seed) => mutant(faulty({}), generator(seed)));
  const found = async (fault: Partial<Format>): Promise<string> => {
    for (const text of texts) {
      const complaint = await judged(faulty(fault), text).then(
        () => undefined,
        (error: unknown) => (error as Error).message,
      );
      if (complaint !== undefined) return complaint;
    }
    return 'nothing';
  };
  const refusing = (said: (bytes: Buffer) => Error): Partial<Format> => ({
    read: (bytes) => {
      throw said(bytes);
    },
  });
  assert.equal(await found({}), 'nothing');
  assert.match(await found(refusing(() => new TypeError('x is undefined, or not'))), /something else is thrown/);
  assert.match(
    await found(refusing((bytes) => new RangeError(`no: ${bytes.toString()} ${'x'.repeat(3_000)}`))),
    /characters/,
  );
  assert.match(await found(refusing(() => new RangeError(`no, for it is ${SECRET}`))), /tells the secret/);
  assert.match(await found(refusing(() => new RangeError('line\nline and line'))), /match/);
  assert.match(
    await found({ read: (bytes) => bytes.toString().replace('1', '2') }),
    /Expected values to be strictly equal/,
  );
});
