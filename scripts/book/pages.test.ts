import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../command.ts';
import { adviceIn } from './messages.ts';
import { bookPages } from './pages.ts';

const read = (file: string): string => readFileSync(join(root, file), 'utf8');

test('the pages that are written from sources say what the sources say (npm run generate)', () => {
  for (const [file, text] of bookPages()) assert.equal(read(file), text, file);
});

test('the page of messages has every code that a package gives advice for, and no package is left out', () => {
  const page = read('docs/messages.md');
  const catalogues = globSync(
    'packages/{crd,durable,kube,release,static-pods,templates,vm-watch,vsphere}/src/**/*error*.ts',
    {
      cwd: root,
    },
  ).filter((file) => !file.endsWith('.test.ts') && /^const NEXT\b/m.test(read(file)));
  assert.ok(catalogues.length >= 9, `only ${catalogues.length} catalogues were seen`);
  for (const file of catalogues) {
    const [, body = ''] = /^const NEXT\b[^=]*= \{\n([\s\S]*?)^\}/m.exec(read(file)) ?? [];
    const codes = [...body.matchAll(/^ {2}(\w+):/gm)].map(([, code = '']) => code);
    assert.deepEqual(
      adviceIn(file).map(({ code }) => code),
      codes,
      `${file}: each code has its advice`,
    );
    for (const code of codes) assert.ok(page.includes(`| \`${code}\` |`), `${file}: ${code}`);
  }
});

/** Reasons of a BootImage: the codes of errors of its package, and the words that the sources give to what is left alone or waits. */
function reasons(): ReadonlySet<string> {
  const [, union = ''] =
    /export type BootImageErrorCode =([\s\S]*?);/.exec(read('packages/boot-images/src/errors.ts')) ?? [];
  const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code = '']) => code);
  const sources = globSync('packages/boot-images/src/**/*.ts', { cwd: root }).filter(
    (file) => !/\.test\.ts$|\/testing\//.test(file),
  );
  const skipped = sources.flatMap((file) =>
    [...read(file).matchAll(/\bskip\(\s*(?:true|false|\w+),\s*'(\w+)'/g)].map(([, reason = '']) => reason),
  );
  const outcomes = sources.flatMap((file) => {
    const named = [...read(file).matchAll(/\bnoImage\(\s*'(\w+)'/g)].map(([, reason = '']) => reason);
    const constants = [...read(file).matchAll(/^export const \w*[rR]eason = '(\w+)'/gm)].map(
      ([, reason = '']) => reason,
    );
    const of = file.endsWith('/status/boot-image.ts') ? /\breason: '(\w+)'/g : /\breason: '(\w+)',\s*brief:/g;
    return [...named, ...constants, ...[...read(file).matchAll(of)].map(([, reason = '']) => reason)];
  });
  return new Set([...codes, ...skipped, ...outcomes]);
}

test('FIND-10: troubleshooting has each reason that a BootImage may have, with what to do', () => {
  const known = reasons();
  // What version 0.1.0 wrote may still be there.
  assert.match(read('docs/troubleshooting.md'), /`PolicyChanged`/);
  for (const seen of [
    'NamesTaken',
    'NoPolicy',
    'NobodyLeads',
    'NotBegun',
    'PinChanged',
    'UnknownInfrastructure',
    'UpToDate',
  ])
    assert.ok(known.has(seen), seen);
  assert.ok(known.size >= 50, `only ${known.size} reasons were seen`);
  const page = read('docs/troubleshooting.md');
  const rows = new Set(
    [...page.matchAll(/^\| ((?:`\w+`(?:, )?)+) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/\w+/g)].map(([word]) => word),
    ),
  );
  assert.deepEqual([...known].filter((reason) => !rows.has(reason)).sort(), []);
});
