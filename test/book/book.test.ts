import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { blocksOf, CLASSES, pages, root, textOf, transcriptsOf } from './blocks.ts';
import { commandChecker } from './commands.ts';
import { anchorsOf, deadEnd, linksOf } from './links.ts';

const LANGUAGES = new Set(['console', 'js', 'json', 'sh', 'text', 'ts', 'yaml']);
const all = pages().map((file) => ({ file, text: textOf(file) }));
const blocks = all.flatMap(({ file, text }) => blocksOf(file, text));
const commands = blocks.filter(({ language }) => language === 'sh' || language === 'console');

test('each block of code says what it is, and one of commands that is not executed why not', () => {
  const wrong = blocks.filter(
    ({ language, words }) => !LANGUAGES.has(language) || words.length > 1 || words.some((word) => !(word in CLASSES)),
  );
  assert.deepEqual(
    wrong.map(({ file, line, language, words }) => `${file}:${line} [${[language, ...words].join(' ')}]`),
    [],
  );
  const told = textOf('docs/testing.md');
  for (const [word, why] of Object.entries(CLASSES))
    assert.ok(told.includes(`| \`${word}\``) && told.includes(why), word);
});

test('each command of the book is one that there is, with its verbs, flags, targets, values and files', async () => {
  const complaint = await commandChecker();
  let seen = 0;
  const wrong = commands.flatMap((block) =>
    transcriptsOf(block).flatMap(({ command }) => {
      seen += 1;
      const said = complaint(command);
      return said === undefined ? [] : [`${block.file}:${block.line}: ${command}: ${said}`];
    }),
  );
  assert.deepEqual(wrong, []);
  assert.ok(seen >= 150, `only ${seen} commands were seen`);
});

test('negative control: what there is not is found', async () => {
  const complaint = await commandChecker();
  for (const [line, said] of [
    ['drydock status --chek', 'status has no flag --chek'],
    ['FOO=1 npm run nothing', 'there is no script nothing'],
    ['make demo tset', 'the Makefile has no tset'],
    ['kubectl apply -k deploy/rbac/nowhere', 'there is no deploy/rbac/nowhere'],
    ['helm install drydock deploy/chart --set rights.everything=true', 'the chart has no value rights.everything'],
    ['echo "$(drydock tmplate list)"', 'drydock has no command tmplate'],
    ['source <(drydock completion --all)', 'completion has no flag --all'],
    ['(umask 077 && frobnicate > x)   # one', 'nobody knows the program frobnicate'],
  ] as const)
    assert.equal(complaint(line), said, line);
  assert.equal(complaint("drydock explain worker-a 2> /dev/null | jq '.a | select(.b)' # why"), undefined);
  assert.throws(() => complaint("echo 'open"), /is not closed/);
});

test('each link leads to a page, a heading, a picture or an address', () => {
  const links = all.flatMap(({ file, text }) => linksOf(file, text));
  const dead = links.flatMap((link) => {
    const why = deadEnd(link);
    return why === undefined ? [] : [`${link.file}: ${link.target}: ${why}`];
  });
  assert.deepEqual(dead, []);
  assert.ok(links.length >= 100, `only ${links.length} links were seen`);
});

test('negative control: links that lead nowhere are found', () => {
  const file = 'docs/README.md';
  const dead = linksOf(
    file,
    '[a](nowhere.md) [b](doctor.md#nothing) ![c](pictures/none.svg) [d](http://x.example) `[e](f)`',
  );
  assert.deepEqual(
    dead.map((link) => deadEnd(link)),
    [
      'there is no docs/nowhere.md',
      'docs/doctor.md has no heading #nothing',
      'there is no docs/pictures/none.svg',
      'http://x.example does not begin with https://',
    ],
  );
  assert.deepEqual([...anchorsOf('# A b\n## A `b`!\n### c/d [e](f)')], ['a-b', 'a-b-1', 'cd-e']);
});

test('the table of contents leads to every page of the book, and every page back to it', () => {
  const reached = new Set<string>();
  const queue = ['docs/README.md'];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    if (file !== 'docs/README.md' && file !== 'docs/runbooks/README.md') continue;
    for (const { target } of linksOf(file, textOf(file))) {
      const to = normalize(join(dirname(file), target.split('#')[0] ?? ''));
      if (to.startsWith('docs/') && to.endsWith('.md') && existsSync(join(root, to))) queue.push(to);
    }
  }
  const book = pages().filter((file) => file.startsWith('docs/'));
  assert.deepEqual(
    book.filter((file) => !reached.has(file)),
    [],
  );
});
