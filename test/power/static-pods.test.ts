import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type FsOps, nodeOps } from '@drydock/durable';
import type { Content } from '@drydock/durable/testing';
import { type Cuttable, contentAt, cutEverywhere } from './crash-points.ts';
import { cutTable } from './cut-table.ts';
import { cannotRun, kinds } from './power-rig.ts';
import {
  compact,
  installOn,
  linkOn,
  linkTo,
  monitorOn,
  pairContent,
  pruneOn,
  revisionContent,
  syncOn,
} from './static-pod-node.ts';

// Real file systems, real power cuts, the whole of installer, cert syncer, pruner and monitor; after each cut one clean run must complete it.

const table = cutTable();

const MAIN = 'man/p-pod.yaml';
const OWN = 'man/p-startup-monitor-pod.yaml';
const LINK = 'res/p-last-known-good';
const nothing = async (): Promise<void> => undefined;

/** Installed one after the other, the last one with the certificate of its number. */
const installed =
  (...revisions: readonly number[]) =>
  async (ops: FsOps, root: string): Promise<void> => {
    for (const revision of revisions) await installOn(ops, root, { revision, certificate: revision });
  };

/** What kubelet reads must not be there before what it leads to. */
const mainLast: Cuttable['order'] = (isNew) =>
  isNew.has('main manifest') && isNew.size < 4
    ? `the main manifest came before something: ${[...isNew].join()}`
    : undefined;

function installation(old: number | undefined): Cuttable['watched'] {
  const at = <T>(what: (revision: number) => T): T | undefined => (old === undefined ? undefined : what(old));
  return [
    { name: 'revision', path: 'res/p-pod-7', old: undefined, wanted: revisionContent(7) },
    { name: 'certificates', path: 'certs/secrets/tls', old: at(pairContent), wanted: pairContent(7) },
    { name: 'monitor manifest', path: OWN, old: at((one) => compact(one, 'm')), wanted: compact(7, 'm') },
    { name: 'main manifest', path: MAIN, old: at((one) => compact(one)), wanted: compact(7) },
  ];
}

interface Job extends Cuttable {
  readonly name: string;
  /** The cuts of the job before in other circumstances: the harsher half is enough. */
  readonly once?: true;
}

const linked = async (ops: FsOps, root: string): Promise<void> => {
  await installed(6, 7)(ops, root);
  await linkOn(ops, root, 6);
};

const jobs: readonly Job[] = [
  { name: 'installer', prepare: installed(6), act: installed(7), watched: installation(6), order: mainLast },
  {
    name: 'installer, first',
    once: true,
    prepare: nothing,
    act: installed(7),
    watched: installation(undefined),
    order: mainLast,
  },
  {
    name: 'installer, revision again',
    once: true,
    prepare: installed(7),
    act: (ops, root) => installOn(ops, root, { revision: 7, certificate: 7, text: 'changed' }),
    watched: [
      { name: 'changed object', path: 'res/p-pod-7/configmaps/config', old: { a: 'a7' }, wanted: { a: 'changed' } },
    ],
  },
  {
    name: 'cert syncer',
    prepare: (ops, root) => syncOn(ops, root, { revision: 0, certificate: 6, trust: true }),
    act: (ops, root) => syncOn(ops, root, { revision: 0, certificate: 7 }),
    watched: [
      { name: 'replaced', path: 'certs/secrets/tls', old: pairContent(6), wanted: pairContent(7) },
      { name: 'gone', path: 'certs/configmaps/trust', old: { ca: 'ca 6' }, wanted: undefined },
    ],
  },
  {
    name: 'pruner',
    prepare: installed(6, 7),
    act: (ops, root) => pruneOn(ops, root, 6),
    watched: [{ name: 'revision', path: 'res/p-pod-6', old: revisionContent(6), wanted: undefined }],
  },
  {
    name: 'monitor, ready',
    prepare: linked,
    act: (ops, root) => monitorOn(ops, root, 7, true),
    watched: [
      { name: 'link', path: LINK, old: `-> ${linkTo(6)}`, wanted: `-> ${linkTo(7)}` },
      { name: 'its manifest', path: OWN, old: compact(7, 'm'), wanted: undefined },
    ],
    order: (isNew) => (isNew.has('its manifest') && !isNew.has('link') ? 'it is gone before the link' : undefined),
    // Kubelet does not start a monitor whose manifest is gone: its trash waits for the next installation.
    later: installed(8),
  },
  {
    name: 'DU-W2 monitor, fallback',
    prepare: linked,
    act: (ops, root) => monitorOn(ops, root, 7, false),
    watched: [
      { name: 'main manifest', path: MAIN, old: compact(7), wanted: await fallenBack() },
      { name: 'its manifest', path: OWN, old: compact(7, 'm'), wanted: undefined },
    ],
    order: (isNew) =>
      isNew.has('its manifest') && !isNew.has('main manifest') ? 'gone before the fallback' : undefined,
    later: installed(8),
  },
];

/** The manifest that a monitor falls back to, from a run that nobody disturbs. */
async function fallenBack(): Promise<Content | undefined> {
  const root = mkdtempSync(join(tmpdir(), 'fallback-'));
  try {
    await linked(nodeOps, root);
    await monitorOn(nodeOps, root, 7, false);
    return contentAt(join(root, MAIN));
  } finally {
    rmSync(root, { recursive: true });
  }
}

for (const kind of kinds) {
  const skip = cannotRun(kind);
  for (const job of jobs)
    test(`power cut, ${kind}, ${job.name}: old or new at every call, and one clean run completes it`, {
      skip,
    }, async () => {
      for (const others of job.once === true ? [true] : [false, true]) {
        const all = await cutEverywhere(
          kind,
          { ...job, recover: nothing, ...(others && { again: (ops, root) => job.act(ops, root) }) },
          others,
        );
        for (const [index, outcomes] of all.entries()) {
          const { name } = job.watched[index] ?? job;
          table.add(kind, `${job.name}: ${name}`, outcomes, others);
          assert.deepEqual(outcomes.corrupt, [], name);
          assert.equal(outcomes.lost + outcomes.healed, 0, name);
          assert.ok(outcomes.old > 0 && outcomes.new > 0, `the cuts did not reach both sides of ${name}`);
        }
      }
    });

  test(`power cut, ${kind}, negative control: DU-W1 the installer's manifest deleted and then written goes missing or empty`, {
    skip,
  }, async () => {
    const watched = installation(6).slice(3);
    const act = async (ops: FsOps, root: string): Promise<void> => {
      await ops.unlink(`${root}/${MAIN}`);
      const file = await ops.open(`${root}/${MAIN}`, 'truncate', 0o600);
      await ops.write(file, Buffer.from(compact(7)), 0);
      await ops.fsync(file);
      await ops.close(file);
    };
    const [outcomes] = await cutEverywhere(kind, { prepare: installed(6), act, watched, recover: nothing }, true);
    assert.ok(outcomes !== undefined);
    assert.ok(outcomes.corrupt.includes('missing') && outcomes.corrupt.includes('""'), JSON.stringify(outcomes));
    table.add(kind, "upstream's order: main manifest", outcomes, true, 'red');
  });
}

test('power cut: the table of packages/static-pods', (t) => table.print(t));
