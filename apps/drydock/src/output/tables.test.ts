import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ApplyPlan, RollbackPlan } from '@drydock/release';
import type { Generation, ListedTemplate } from '@drydock/templates';
import { stagedText } from '../image/stage.ts';
import { planText } from '../release/plan.ts';
import { preflightText, rollbackPlanText } from '../release/rollback-text.ts';
import { collectedText } from '../template/gc.ts';
import { historyRows, historyText } from '../template/history.ts';
import { listText } from '../template/list.ts';
import { runVerbs } from '../testing/run-verbs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'drydock-tables-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const WIDTHS = [80, 120, 200];
const long = (word: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `${word}-${at}`).join(' ');
const words = (text: string): readonly string[] =>
  text
    .split(/\s+/)
    .filter((word) => word !== '')
    .toSorted();

/** Lines of a table are no longer than the terminal, unless a word of theirs is; no word is lost. Prose above a table is broken by the terminal. */
function assertFits(about: string, columns: number, text: string, whole: string): void {
  assert.deepEqual(words(text), words(whole), `${about} at ${columns}`);
  const lines = text.split('\n').filter((line) => / {3}|^ {4}/.test(line));
  assert.ok(lines.length >= 2, `${about}: ${text}`);
  for (const line of lines) {
    const longest = Math.max(...line.split(' ').map((word) => word.length));
    assert.ok(
      line.length <= Math.max(columns, longest + 24),
      `${about}: ${line.length} characters at ${columns}: ${line}`,
    );
  }
}

/** The text on a terminal of so many columns; undefined: on none. */
function on(columns: number | undefined, text: () => string): string {
  const { isTTY } = process.stdout;
  const was = Object.getOwnPropertyDescriptor(process.stdout, 'columns');
  Object.assign(process.stdout, { isTTY: columns !== undefined, columns });
  try {
    return text();
  } finally {
    Object.assign(process.stdout, { isTTY });
    if (was === undefined) Reflect.deleteProperty(process.stdout, 'columns');
    else Object.defineProperty(process.stdout, 'columns', was);
  }
}

const now = Date.parse('2026-01-02T00:00:00Z');
const name = 'rhcos-of-a-cluster-with-a-long-name-9.8.20260802-0-0123abcd';
const uuid = '11111111-0000-4000-8000-000000000000';
const generation: Generation = {
  ...{ name, stableName: 'rhcos-of-a-cluster-with-a-long-name', current: false, instanceUuid: uuid, revertible: false },
  ...{
    reason: long('clone', 30),
    release: '9.8.20260802-0',
    digest: 'e'.repeat(64),
    createdAt: '2026-01-01T00:00:00Z',
  },
};
const listed: ListedTemplate = {
  ...{ name, instanceUuid: uuid, ref: { type: 'VirtualMachine', value: 'vm-1' }, role: 'current', isTemplate: true },
  ...{
    stableName: 'rhcos-of-a-cluster',
    owner: 'a-team-with-a-long-name',
    release: '9.8.20260802-0',
    createdAt: '2026-01-01T00:00:00Z',
  },
};
const run = {
  command: (...given: readonly string[]) => `drydock template ${given.join(' ')}`,
  flags: { pointerVariable: 'template' },
};
const id = {
  group: 'apps',
  kind: 'Deployment',
  namespace: 'openshift-cluster-version-operator',
  name: 'cluster-version-operator',
};
const planned = {
  ...{
    version: '4.22.0',
    owner: 'ClusterVersion version',
    deletedData: [{ id, lost: long('value', 20) }],
    orphans: [],
  },
  counts: { create: 1, update: 0, delete: 0, nothing: 0, wait: 0, refuse: 0 },
  phases: [{ phase: 1, nodes: [{ objects: [{ id, action: 'create', why: long('because', 20) }] }] }],
} as unknown as ApplyPlan;
const rollback = {
  ...{ from: '4.22.0', to: '4.21.0', owner: 'Payload tools-of-a-team', stops: [], preflight: { objects: 3 } },
  phases: [
    {
      phase: 'bridge',
      steps: [{ action: 'narrow', object: 'CustomResourceDefinition/things.example.com', what: long('field', 30) }],
    },
  ],
} as unknown as RollbackPlan;
const judged = {
  ...{ version: '4.21.0', verdict: 'blocked', objects: 3, stops: ['Rollback/a'] },
  findings: [{ id: 'a', blocking: true, message: long('object', 40) }],
  healed: [{ how: 'kept', definition: 'things.example.com', path: `status.${'deeper.'.repeat(20)}`, objects: 7 }],
} as unknown as Parameters<typeof preflightText>[0];

const TEXTS: Readonly<Record<string, () => string>> = {
  'template list': () => listText([listed], { wide: false, now }),
  'template list -o wide': () => listText([listed], { wide: true, now }),
  'template history': () => historyText(historyRows([generation], run, undefined), { wide: false, now }),
  'template history -o wide': () => historyText(historyRows([generation], run, undefined), { wide: true, now }),
  'template gc': () => collectedText([{ name, removed: false, reason: long('need', 30) }], true),
  'image stage': () =>
    stagedText([
      {
        ...{
          server: 'vcenter-of-a-site.example',
          folder: '/a-datacenter/vm/a-folder-of-templates',
          failureDomain: 'us-east-1a',
        },
        ...{ release: '9.8.20260802-0', state: 'imported', template: name },
      },
    ]),
  'release plan': () => planText(planned, true, (one) => `${one.kind} ${one.namespace}/${one.name}`),
  'release rollback --dry-run': () => rollbackPlanText(rollback),
  'release preflight': () => preflightText(judged, true),
};

test('OWN-20.5 tables of templates, of stages and of releases fit the terminal and lose no word', () => {
  for (const [about, text] of Object.entries(TEXTS))
    for (const columns of WIDTHS) assertFits(about, columns, on(columns, text), on(undefined, text));
  // The control: without a terminal they are as long as they are.
  const [first = ''] = on(undefined, TEXTS['template gc'] ?? String)
    .split('\n')
    .slice(1);
  assert.throws(() => assertFits('control', 80, `${first}\n${first}`, `${first}\n${first}`), /characters at 80/);
});

/** A payload in a folder: each manifest a ConfigMap. */
function payload(version: string, team: string): string {
  const folder = join(scratch, version, 'release-manifests');
  mkdirSync(folder, { recursive: true });
  const put = (file: string, value: object): void => writeFileSync(join(folder, file), JSON.stringify(value));
  put('release-metadata', { kind: 'cincinnati-metadata-v0', version });
  const references = { apiVersion: 'image.openshift.io/v1', kind: 'ImageStream', metadata: { name: version } };
  put('image-references', { ...references, spec: { tags: [] } });
  for (const at of ['10', '20', '30']) {
    const metadata = { name: `a-config-map-of-${team}-with-a-long-name-${at}`, namespace: 'a-namespace' };
    put(`0000_${at}_${team}_01.json`, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  }
  return join(scratch, version);
}

test('OWN-20.5 tables of definitions and payloads fit the terminal and lose no word', async () => {
  const crds = join(import.meta.dirname, '../../../../api/crds');
  const older = join(scratch, 'older');
  cpSync(crds, older, { recursive: true });
  const file = join(older, 'drydock.dev_bootimages.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/^( +)(?:phase|history|progressDetail):$/gm, '$1renamed:'));
  const [from, to] = [payload('4.21.0', 'olm'), payload('4.22.0', 'network-operator')];
  const verbs = [
    ...[
      ['crd', 'check', older, crds],
      ['crd', 'check', older, crds, '-o', 'wide'],
    ],
    ...[
      ['release', 'load', to, '-o', 'wide', '--plain'],
      ['release', 'diff', from, to, '-o', 'wide', '--plain'],
    ],
  ];
  const widths = [...WIDTHS, undefined];
  const env = { NO_COLOR: '1', TERM: 'xterm-256color' };
  const ran = await runVerbs(
    verbs.flatMap((args) => widths.map((columns) => ({ args, env, ...(columns === undefined ? {} : { columns }) }))),
  );
  for (const [at, verb] of verbs.entries())
    for (const [index, columns] of WIDTHS.entries()) {
      const [one, whole] = [ran[at * 4 + index], ran[at * 4 + 3]];
      const about = verb.slice(0, 2).join(' ');
      assert.ok((one?.out ?? '').length > 80, `${about}: ${one?.errors}`);
      assertFits(about, columns, one?.out ?? '', whole?.out ?? '');
    }
});
