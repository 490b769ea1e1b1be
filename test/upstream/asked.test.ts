import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

/** What proves it: a test by file and title, a row or sentence of a page, or a heading of docs/not-done.md. */
interface Row {
  /** What upstream planned and did not ship, or what its users and reviewers asked for. */
  readonly asked: string;
  readonly tests?: readonly (readonly [file: string, title: string])[];
  readonly notDone?: string;
}

const boot = (file: string): string => `packages/boot-images/src/${file}.test.ts`;

/** Planned upstream and taken out again, or left for later. */
const planned: readonly Row[] = [
  {
    asked: 'a history of the images of each machine resource, for audit and for the way back',
    tests: [
      [boot('way-back/history'), 'the image before the first move is the first of the history'],
      [boot('way-back/history'), 'whoever else moves the set is in the history by the name of its field manager'],
    ],
  },
  {
    asked: 'a test machine from a new image, which must become a node before the image is kept',
    tests: [
      [boot('canary/canary'), 'mode: a machine is made from the image before anything points at it, becomes a node'],
      [boot('canary/canary'), 'nothing is patched, what was seen last is said, and the release is not tried again'],
      [
        boot('cluster-api/canary'),
        'a canary of Cluster API: a machine with clones of what the set’s machines are made',
      ],
    ],
  },
  {
    asked: 'going back to an earlier image',
    tests: [
      ['test/sandbox/way-back.test.ts', 'history, revert and release, with the operator as a process: no upload'],
      [boot('way-back/pass'), 'a pinned set goes back without an upload, says so, and does not move when the release'],
    ],
  },
  { asked: 'failures that pass by themselves do not degrade at once', notDone: 'A threshold before a failure counts' },
  {
    asked: 'hand-made Ignition in user-data is kept, and managed user-data can take its place',
    tests: [
      [boot('user-data/stub-secret'), 'a customised stub of Ignition 3 is never touched, in either way'],
      [boot('user-data/stub-secret'), 'Managed: a set with a stub of Ignition 2 is switched to the managed Secret'],
    ],
    notDone: 'Managed user-data put in by itself',
  },
  {
    asked:
      'Cluster API: the template is cloned under a name that follows from its content, the reference is patched, the old one collected',
    tests: [
      [
        boot('cluster-api/decide'),
        'only the image leaf is changed in the clone, whose name is the base and eight digits',
      ],
      [
        boot('cluster-api/rotation.model'),
        'the process dies, somebody edits, or another release comes, before and after',
      ],
      [boot('cluster-api/decide'), 'in both worlds at once, a set that Machine API manages says so'],
      ['test/sandbox/cluster-api.test.ts', 'what is planned is what apply then does, and not where the world moved'],
    ],
  },
  {
    asked: 'images of other OS streams',
    tests: [[boot('decide/decide'), 'BI-V32 BI-V33 another OS stream is out of scope']],
    notDone: 'Images of other OS streams',
  },
  {
    asked: 'control planes on vSphere, marketplaces of Google Cloud, unknown owners on AWS, other platforms',
    tests: [
      [
        'test/sandbox/boot-images.test.ts',
        'BI-V122 the control plane on vSphere is left alone, and its BootImage says why',
      ],
      [boot('gcp/target'), 'a marketplace image are skipped'],
      [boot('aws/platform'), 'an image of somebody’s own is skipped with a reason'],
      [boot('decide/reflect'), 'BI-V178 an unsupported platform leaves status alone'],
    ],
    notDone: 'Platforms without a way to look',
  },
  {
    asked: 'images that are too old are refused, by who serves Ignition or by the release manager',
    tests: [[boot('skew/guard'), 'BI-V199 a record below the minimum blocks']],
    notDone: 'Refusing machines with an old image',
  },
  { asked: 'machine resources are selected by namespace', notDone: 'Namespaces' },
  {
    asked: 'a status and an alert for each machine set, in place of counts',
    tests: [
      [boot('status/boot-image'), 'one BootImage per set, owned by it'],
      [boot('metrics'), 'sets are counted by what became of them; age and attempts are those of each set'],
      ['test/sandbox/boot-images-admission.test.ts', 'every metric of an alert is one that the operator has'],
    ],
  },
];

/** Asked for by reviewers and users. */
const wished: readonly Row[] = [
  {
    asked: 'machines are changed on admission, so that sets stay as their repository has them',
    tests: [[boot('pass/hot-loop'), 'a hot loop names who reverts the image, where the server tells']],
    notDone: 'Changing machines on admission',
  },
  {
    asked: 'sets that belong to somebody else are named with their owner, in place of a number',
    tests: [[boot('decide/decide'), 'BI-V31 an owned set is skipped, counted, and says who owns it']],
  },
  {
    asked: 'a condition on the configuration, and not the whole operator degraded',
    tests: [
      [boot('status/conditions'), 'BI-V51 BI-V52 failures are counted, named and aggregated'],
      [boot('operator'), 'a ClusterOperator of somebody else is not written'],
    ],
  },
  {
    asked: 'one set is opted out by an annotation, and that is shown',
    tests: [[boot('decide/request'), 'a set that somebody opted out is a row of its own with the reason']],
  },
  {
    asked: 'with Cluster API deployments are updated, and not their sets',
    tests: [['test/sandbox/cluster-api.test.ts', 'and the deployment is pointed at a copy of its template']],
  },
  {
    asked: 'a stub is touched only where it is of Ignition 2, and a customised one of Ignition 3 never',
    tests: [
      [boot('user-data/user-data'), 'BI-V163 BI-V172 a spec 2 stub is converted in its own secret'],
      [boot('user-data/user-data'), 'BI-V164 a spec 3 stub is not written'],
    ],
  },
  {
    asked: 'a machine or template in vCenter that bears the name and is not ours is never destroyed',
    tests: [
      ['packages/templates/src/decide/decide-swap.test.ts', 'nothing foreign is ever renamed, marked or destroyed'],
      ['packages/templates/src/vectors.test.ts', 'a foreign machine that bears the name is left alone'],
    ],
  },
  {
    asked: 'an image counts as good only once it was seen to work, and can be taken back',
    tests: [
      [boot('canary/canary'), 'mode: a machine is made from the image before anything points at it, becomes a node'],
      ['test/model/way.test.ts', 'one outcome, and a pinned set never moves'],
    ],
  },
  {
    asked: 'managed services and installers turn it off: None, or an empty list, stays what it is',
    tests: [
      [boot('decide/reflect'), 'BI-V177 an explicit empty list stays an empty list'],
      [boot('decide/selection'), 'BI-V27 mode None leaves the image where it is'],
    ],
  },
  {
    asked: 'a rollback copy that an interrupted swap left is cleaned up',
    tests: [['test/upstream/mco-swap.test.ts', 'BI-W7 a leftover when the version matches already']],
  },
  {
    asked: 'the error of a failed look-up is kept in the message',
    tests: [['packages/templates/src/observe/find.test.ts', 'a look-up that falls back to another keeps both errors']],
  },
  {
    asked: 'a failure of the network between two renames is tested, on a simulator',
    tests: [['test/upstream/mco-swap.test.ts', 'BI-W2 VS-W94 the second rename fails']],
  },
];

const sources = new Map<string, string>();

function read(file: string): string {
  const text = sources.get(file) ?? readFileSync(join(root, file), 'utf8');
  sources.set(file, text);
  return text;
}

/** What is wrong with a row; undefined where nothing is. */
function fault({ asked, tests = [], notDone }: Row): string | undefined {
  if (tests.length === 0 && notDone === undefined) return `${asked}: neither proven nor explained`;
  for (const [file, title] of tests) {
    // Titles are texts or templates behind `test(`, which may stand on a line of their own.
    const titles = [...read(file).matchAll(/\btest\(\s*(['"`])((?:(?!\1)[^\\]|\\.)*)\1/g)].map(([, , found]) => found);
    if (!titles.some((found) => found?.includes(title))) return `${asked}: ${file} has no test "${title}"`;
  }
  const headings = read('docs/not-done.md').split('\n');
  return notDone === undefined || headings.includes(`## ${notDone}`)
    ? undefined
    : `${asked}: docs/not-done.md has no heading "${notDone}"`;
}

test('OWN-18 what was planned upstream and not shipped, and what was asked for, is here with a test, or its page says why not', () => {
  assert.deepEqual([planned.length, wished.length], [11, 12]);
  assert.deepEqual(
    [...planned, ...wished].flatMap((row) => fault(row) ?? []),
    [],
  );
  // Nothing is explained that nobody asked for.
  const named = new Set([...planned, ...wished].map(({ notDone }) => notDone));
  const headings = read('docs/not-done.md')
    .split('\n')
    .flatMap((line) => (line.startsWith('## ') ? [line.slice(3)] : []));
  assert.deepEqual(
    headings.filter((heading) => !named.has(heading)),
    [],
  );
});

test('a row whose test is not there, or that says nothing, is seen', () => {
  const file = boot('decide/decide');
  assert.match(fault({ asked: 'x', tests: [[file, 'no such test']] }) ?? '', /has no test "no such test"/);
  assert.match(fault({ asked: 'x', notDone: 'No such heading' }) ?? '', /has no heading/);
  assert.match(fault({ asked: 'x' }) ?? '', /neither proven nor explained/);
});
