import { Command } from 'commander';
import { addConfigFlags } from '../config/apply.ts';
import { VERBS } from '../main.ts';

/** The command line as it runs, with all of its verbs. */
export async function commandLine(): Promise<Command> {
  const program = new Command('drydock');
  for (const { load } of VERBS) (await load())(program);
  addConfigFlags(program);
  return program;
}

/** Why a command cannot run as it stands: the first word that is no command, or a flag that it does not have. `X` stands for any word. */
export function fault(program: Command, words: readonly string[]): string | undefined {
  let command = program;
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const found = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (found !== undefined) command = found;
    else if (command.commands.length > 0 && !word.startsWith('-') && word !== 'X')
      return `${command.name()} has no command ${word}`;
    else break;
  }
  // Where code puts the verb in, any of them may have the flag.
  const ancestors: Command[] = words[at] === 'X' ? [...command.commands] : [];
  for (let one: Command | null = command; one !== null; one = one.parent) ancestors.push(one);
  const flags = new Set(ancestors.flatMap((one) => one.options.flatMap(({ long, short }) => [long, short])));
  for (const word of words.slice(at)) {
    const [flag = ''] = word.split('=');
    if (/^--?[a-z]/.test(flag) && !['--help', '-h', '--version'].includes(flag) && !flags.has(flag))
      return `${command.name()} has no flag ${flag}`;
  }
  return undefined;
}
