import type { Command, Option } from 'commander';

/** A word that may stand next, and what it means. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** What names are asked for. */
export type Live = 'sets' | 'payloads' | 'namespaces' | 'contexts';

/** What may stand in the place of the last word. */
export interface Offer {
  readonly candidates: readonly Candidate[];
  /** Names of the cluster, which begin with this word, before which that stands. */
  readonly live?: { readonly of: Live; readonly before: string };
  /** Names of files. */
  readonly files: boolean;
}

const NOTHING: Offer = { candidates: [], files: false };

/** What may stand in the place of the last word, by the tree of commands. Groups that are not loaded offer nothing. */
export function offerOf(program: Command, words: readonly string[]): Offer {
  const current = words.at(-1) ?? '';
  let command = program;
  let waiting: Option | undefined;
  /** Values of a flag that takes many. */
  let values: string[] = [];
  let [given, onlyWords] = [0, false];
  for (const word of words.slice(0, -1)) {
    if (waiting?.variadic === true && !word.startsWith('-')) {
      values.push(word);
    } else if (waiting !== undefined && !waiting.variadic) {
      waiting = undefined;
    } else if (word === '--') {
      onlyWords = true;
    } else if (!onlyWords && word.startsWith('-')) {
      const option = optionOf(command, word);
      waiting = option?.required === true && !word.includes('=') ? option : undefined;
      values = [];
    } else {
      const inner =
        given === 0 ? command.commands.find((one) => one.name() === word || one.aliases().includes(word)) : undefined;
      if (inner === undefined) given += 1;
      else command = inner;
    }
  }
  const isNextFlag = waiting?.variadic === true && values.length > 0 && current.startsWith('-');
  if (waiting !== undefined && !isNextFlag)
    return waiting.long === VERB ? verbsAfter(program, values, current, '') : valueFor(waiting, current, '');
  if (!onlyWords && current.startsWith('-')) {
    const equals = current.indexOf('=');
    const option = equals < 0 ? undefined : optionOf(command, current);
    const [value, before] = [current.slice(equals + 1), current.slice(0, equals + 1)];
    if (option?.long === VERB) return verbsAfter(program, [], value, before);
    if (option !== undefined) return valueFor(option, value, before);
    return { candidates: flagsOf(command).filter(({ word }) => word.startsWith(current)), files: false };
  }
  const inner = command.createHelp().visibleCommands(command);
  if (given === 0 && inner.length > 0)
    return {
      candidates: inner
        .map((one) => ({ word: one.name(), about: one.description() }))
        .filter(({ word }) => word.startsWith(current)),
      files: false,
    };
  return argumentOf(command, given, current);
}

/** The flag whose value is a verb, word by word. */
const VERB = '--sources';

function verbsAfter(program: Command, path: readonly string[], current: string, before: string): Offer {
  let command: Command | undefined = program;
  for (const word of path) command = command?.commands.find((one) => one.name() === word);
  const inner = command?.createHelp().visibleCommands(command) ?? [];
  const candidates = inner
    .filter((one) => one.name() !== 'help' && one.name().startsWith(current))
    .map((one) => ({ word: `${before}${one.name()}`, about: one.description() }));
  return { candidates, files: false };
}

function optionOf(command: Command, word: string): Option | undefined {
  const flag = word.split('=', 1)[0];
  return command.options.find(({ short, long }) => flag === short || flag === long);
}

function flagsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) => {
      const word = long ?? short;
      return word === undefined ? [] : [{ word, about: description }];
    });
}

/** Of a flag: its choices, which some say in their first words as `a|b|c`; names of files or of the cluster, by what it calls them. */
function valueFor(option: Option, current: string, before: string): Offer {
  const listed = /^[\w=]+(?:\|[\w=]+)+/
    .exec(option.description)?.[0]
    .split('|')
    .map((one) => one.replace(/=[A-Z]+$/, '='));
  const choices = option.argChoices ?? listed;
  if (choices !== undefined) return chosen(choices, current, before);
  if (/<(?:file|folder|path)>/.test(option.flags)) return { candidates: [], files: true };
  if (option.long === '--drydock-context') return { candidates: [], files: false, live: { of: 'contexts', before } };
  return option.long === '--namespace' || option.long === '--lease-namespace'
    ? { candidates: [], files: false, live: { of: 'namespaces', before } }
    : NOTHING;
}

function chosen(choices: readonly string[], current: string, before: string): Offer {
  const candidates = choices
    .filter((one) => one.startsWith(current))
    .map((one) => ({ word: `${before}${one}`, about: '' }));
  return { candidates, files: false };
}

/** By the names of arguments, and by commands whose argument is called otherwise. */
function liveOf(command: Command, argument: string): Live | undefined {
  if (/^(?:machine)?sets?$/.test(argument)) return 'sets';
  if (command.parent?.name() === 'config') return 'contexts';
  return command.parent?.name() === 'release' && command.name() === 'status' ? 'payloads' : undefined;
}

function argumentOf(command: Command, given: number, current: string): Offer {
  const all = command.registeredArguments;
  const last = all.at(-1);
  const argument = all[given] ?? (last?.variadic === true ? last : undefined);
  if (argument === undefined) return NOTHING;
  if (argument.argChoices !== undefined) return chosen(argument.argChoices, current, '');
  const of = liveOf(command, argument.name());
  return of === undefined
    ? { candidates: [], files: true }
    : { candidates: [], files: false, live: { of, before: '' } };
}
