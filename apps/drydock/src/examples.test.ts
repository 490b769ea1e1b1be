import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { addExamples } from './examples.ts';
import { commandLine } from './testing/command-line.ts';

/** Words of a line as a shell reads them, up to what it does with the output. */
function wordsOf(line: string): readonly string[] {
  const [command = ''] = line.split(/ [|>#]|\)/);
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
}

test('OWN-20.7 the help of each verb has an example, which is a line of that verb that parses', async () => {
  const program = await commandLine();
  addExamples(program);
  const parsed: string[] = [];
  const helps = new Map<string, string>();
  const walk = (command: Command, path: readonly string[]): void => {
    const name = path.join(' ');
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    // Its verbs are those of another program.
    if (command.commands.length === 0 && name !== 'node') {
      let help = '';
      command.configureOutput({
        writeOut: (text) => {
          help += text;
        },
      });
      command.outputHelp();
      helps.set(name, help);
      command.action(() => {
        parsed.push(name);
      });
    }
    for (const inner of command.commands) walk(inner, [...path, inner.name()]);
  };
  walk(program, []);
  assert.ok(helps.size > 40, `${helps.size} verbs`);
  for (const [name, help] of helps) {
    const lines = [...help.matchAll(/^(?:Examples?:\n {2}|Example: )(.*)$/gm)].map(([, line = '']) => line);
    assert.equal(lines.length, 1, `${name} has one example: ${help}`);
    const [line = ''] = lines;
    const words = wordsOf(line.slice(line.indexOf('drydock ') + 'drydock '.length));
    await program.parseAsync(['node', 'drydock', ...words]);
    assert.equal(parsed.pop(), name, line);
  }
  // The control.
  await assert.rejects(program.parseAsync(['node', 'drydock', 'explain', '--no-such-flag']), /unknown option/);
});
