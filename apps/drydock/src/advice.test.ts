import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { configLayer } from './template/config-file.ts';
import { commandLine, fault } from './testing/command-line.ts';

const root = join(import.meta.dirname, '../../..');

interface Advice {
  /** Words from the program's name on. */
  readonly words: readonly string[];
  readonly where: string;
}

/** What is put into a sentence by code stands for one word, or for flags that were given. */
const PUT_IN = /\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}/g;

/** `drydock` as a word of another program's command, where it is a name or a namespace. */
const OF_ANOTHER = /\b(?:kubectl|oc|govc|helm)\s+\S[^;|&]*$/;

/** Every command of ours that a text names: in a string of the sources, or as code of a document. */
function named(text: string, where: string): readonly Advice[] {
  const clauses = text
    .replaceAll(/\$\{program\}/g, 'drydock template')
    .replaceAll(PUT_IN, ' X')
    .split(/\n|[.,:;…](?=\s|$)/);
  return clauses.flatMap((clause) =>
    [...clause.matchAll(/(?<![\w/@.-])drydock((?: +[^\s`"';|>()#&\\]+)+)/g)]
      .filter(({ index }) => !OF_ANOTHER.test(clause.slice(0, index)))
      .map(([, rest = '']) => ({ words: rest.trim().split(/ +/), where })),
  );
}

/** Literals of a source, without its comments and imports. */
function literals(source: string): string {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '');
  return [...code.matchAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.|\$\{[^}]*\})*`/g)]
    .map(([text]) => text.slice(1, -1))
    .join('\n');
}

const sources = globSync('{packages,apps}/*/src/**/*.ts', { cwd: root }).filter(
  // Scripts of shells call the program, and tell nobody anything.
  (file) => !/\.test\.ts$|\/testing\/|packages\/(?:sandbox|model)\/|completion\/scripts\.ts$/.test(file),
);

test('SAFE-17 every command of ours that the product names in a sentence, or its documents in code, is one that it has, with these flags', async () => {
  const program = await commandLine();
  const advice = sources.flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    const made = [...source.matchAll(/\brun\.command\(([^()]*)\)/g)].map(([, words = '']) =>
      words
        .split(/, */)
        .map((word) => /^'(.*)'$/.exec(word)?.[1] ?? 'X')
        .join(' '),
    );
    return [...named(literals(source), file), ...made.flatMap((words) => named(`drydock template ${words}`, file))];
  });
  const documents = globSync(
    '{README.md,docs/**/*.md,packages/*/README.md,apps/*/README.md,deploy/**/*.{md,yaml,txt}}',
    {
      cwd: root,
    },
  );
  for (const file of documents) {
    const code = [...readFileSync(join(root, file), 'utf8').matchAll(/```[a-z ]*\n([\s\S]*?)```|`([^`\n]+)`/g)];
    advice.push(
      ...code.flatMap(([, block = '', inline = '']) =>
        named((block || inline).replaceAll(/\\\n\s*/g, ' '), relative(root, join(root, file))),
      ),
    );
  }
  const wrong = advice.flatMap(({ words, where }) => {
    const why = fault(program, words);
    return why === undefined ? [] : [`${where}: drydock ${words.join(' ')}: ${why}`];
  });
  assert.deepEqual(wrong, []);
  const fromSources = advice.filter(({ where }) => where.endsWith('.ts'));
  assert.ok(
    fromSources.length >= 20 && advice.length - fromSources.length >= 40,
    `${fromSources.length} of ${advice.length} in sources`,
  );
});

test('SAFE-17 negative control: a verb, a flag, and a flag of another verb that there is not are found', async () => {
  const program = await commandLine();
  const why = (text: string): readonly (string | undefined)[] =>
    named(text, 'x').map(({ words }) => fault(program, words));
  assert.deepEqual(why('to remove them: drydock crd doctor --yes'), [undefined]);
  assert.deepEqual(why('run drydock crd remove, then drydock operator --rolls watch'), [
    'crd has no command remove',
    'operator has no flag --rolls',
  ]);
  assert.deepEqual(why('drydock crd check --yes'), ['check has no flag --yes']);
});

test('SAFE-17 a next step that is put together has each word through the one place that quotes', () => {
  const loose = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /\bnext: `[^`]*\$\{/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  // What is ready for a shell already.
  assert.deepEqual(
    loose.filter((line) => !/\$\{(?:options\.again|CREATE|program\} doctor\$\{flags)\}/.test(line)),
    [],
  );
});

test('SAFE-9 a path in a next step is one word for a shell, whatever is in it', async () => {
  const next = (path: string): Promise<unknown> =>
    configLayer(path, path).catch((error: { readonly next?: unknown }) => error.next);
  assert.equal(await next('/absent/plain.yaml'), 'ls -l /absent/plain.yaml');
  assert.equal(
    await next("/absent/a b; rm -rf '$HOME'.yaml"),
    String.raw`ls -l '/absent/a b; rm -rf '\''$HOME'\''.yaml'`,
  );
});
