import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { commandLine } from '../testing/command-line.ts';
import { flagText } from './apply.ts';
import { EXCEPTIONS, exceptionOf, verbExceptionOf } from './exceptions.ts';
import { flagOf, flagsOfSetting, keyOf, SETTINGS, type Setting, settingOf, variableOf, verbOf } from './settings.ts';

/** Each flag of each verb; those of a group are those of its verbs, too. */
async function flags(): Promise<readonly (readonly [verb: string, command: Command, flag: string])[]> {
  const found: (readonly [string, Command, string])[] = [];
  const walk = (command: Command, inherited: readonly Command['options'][number][]): void => {
    const options = [...inherited, ...command.options];
    if (command.commands.length === 0)
      for (const option of options) found.push([verbOf(command), command, flagOf(option)]);
    for (const inner of command.commands) walk(inner, options);
  };
  for (const command of (await commandLine()).commands) walk(command, []);
  return found;
}

const optionOf = (command: Command, flag: string) => {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const option = at.options.find((one) => flagOf(one) === flag);
    if (option !== undefined) return option;
  }
  throw new Error(`no --${flag}`);
};

const collects = ({ defaultValue, parseArg }: Command['options'][number]): boolean => {
  try {
    return Array.isArray(parseArg?.('1', defaultValue as never));
  } catch {
    return false;
  }
};

test('OWN-20 every flag of every verb has a variable and a key, or is an exception with a reason; none of either is of nothing', async () => {
  const all = await flags();
  assert.ok(all.length > 500, `${all.length} flags`);
  const used = new Map<string, Set<string>>();
  const excused = new Set((await commandLine()).commands.map(verbOf).filter((verb) => EXCEPTIONS.has(verb)));
  for (const [verb, command, flag] of all) {
    const option = optionOf(command, flag);
    const setting = settingOf(verb, option);
    const why = exceptionOf(verb, flag);
    assert.notEqual(
      setting === undefined,
      why === undefined,
      `${verb} --${flag} has a variable or a reason, and not both`,
    );
    for (const name of [verb, verb.split(' ')[0] ?? '', `${verb} --${flag}`])
      if (EXCEPTIONS.has(name)) excused.add(name);
    if (verbExceptionOf(verb) === undefined && why !== undefined && why === EXCEPTIONS.get(`--${flag}`))
      excused.add(`--${flag}`);
    if (setting === undefined) continue;
    used.set(setting.id, (used.get(setting.id) ?? new Set()).add(flag));
    assert.ok(flagText(option, verb).includes(variableOf(setting)), `the help of ${verb} --${flag} names its variable`);
    const isSwitch = option.isBoolean() || option.negate;
    const kinds: readonly Setting['kind'][] = isSwitch
      ? ['switch']
      : option.variadic
        ? ['list']
        : ['text', 'file', 'list'];
    assert.ok(kinds.includes(setting.kind), `${verb} --${flag} is no ${setting.kind}`);
    // Those that may be given several times collect what they are given.
    if (!isSwitch && !option.variadic) assert.equal(setting.kind === 'list', collects(option), `${verb} --${flag}`);
    if (/<(?:file|folder)>/.test(option.flags)) assert.equal(setting.kind, 'file', `${verb} --${flag}`);
  }
  assert.deepEqual([...used.keys()].toSorted(), [...SETTINGS.keys()].toSorted(), 'each setting is a flag of some verb');
  assert.deepEqual([...excused].toSorted(), [...EXCEPTIONS.keys()].toSorted(), 'each exception is one');
  for (const setting of SETTINGS.values())
    assert.deepEqual(
      flagsOfSetting(setting)
        .map(({ flag }) => flag)
        .toSorted(),
      [...(used.get(setting.id) ?? [])].toSorted(),
      `the book names the flags of ${setting.id}`,
    );
});

test('OWN-20 no variable or key is of two settings, and none is one that the project gives another meaning', () => {
  const settings = [...SETTINGS.values()];
  const own = settings.filter(({ readFrom }) => readFrom === undefined);
  for (const name of [variableOf, keyOf]) {
    assert.equal(new Set(own.map(name)).size, own.length);
    assert.equal(new Set(settings.map(name)).size, own.length, 'the others share one');
  }
  const taken = [
    'CONFIG',
    'CONTEXT',
    'DEBUG',
    'MARK_KEY',
    'IMAGE_MIRRORS',
    'SEED',
    'SEEDS',
    'SOAK',
    'ERAS',
    'WORKLOADS',
    'HISTORY',
  ];
  const variables = new Set(settings.map(variableOf));
  assert.deepEqual(
    taken.filter((name) => variables.has(`DRYDOCK_${name}`)),
    [],
  );
});
