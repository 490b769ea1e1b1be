import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { soaking } from '@drydock/model';
import {
  apiPoints,
  changesOf,
  destroyPoint,
  firstPoint,
  midUploadPoint,
  vcenterPoints,
  writeName,
} from './support/crash-points.ts';
import {
  type Course,
  type CrashPoint,
  type CrashRig,
  carelessProgram,
  judge,
  type Outcome,
  operatorProgram,
  startCrashRig,
  type When,
} from './support/crash-rig.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
import { type Image, installerTemplate, oldRelease } from './support/voyage-cluster.ts';

let voyage: Voyage;
let releases = 0;

before(async () => {
  voyage = await startVoyage({ operator: false });
});

after(async () => {
  await voyage?.[Symbol.asyncDispose]();
});

async function nextImage(): Promise<Image> {
  releases += 1;
  return voyage.image(`9.8.20261101-${releases}`);
}

// Processes that start and end, one after another: together they may take longer than a test may.
suite('VS-W93 BI-V147 drydock operator is killed at every change that it makes, and started once more', {
  timeout: 900_000,
}, () => {
  const set = 'survivor';
  const whens = ['before', 'after'] as const;
  let rig: CrashRig;

  const crash = async (
    points: readonly (readonly [CrashPoint, When])[],
    course: Partial<Course> = {},
  ): Promise<void> => {
    const image = await nextImage();
    const done = () => voyage.current(set, image.release);
    const outcome = await rig.crash(image, points, { done, ...course });
    judge(outcome, image, rig.folder);
  };
  before(async () => {
    rig = await startCrashRig(voyage, set, operatorProgram);
    await voyage.current(set, oldRelease);
    await crash([]);
    // Neighbours that look like ours: workers with all marks, one of them linked, and the same name in another folder.
    const template = `${rig.folder}/${await voyage.template(set)}`;
    await voyage.switchboard.cloneVm({ template, name: 'worker-0', powerOn: true });
    await voyage.switchboard.cloneVm({ template, name: 'worker-1', linked: true });
    await voyage.folder('second-cluster');
  });
  after(async () => {
    const looks = rig?.observer.looks ?? 0;
    await rig?.[Symbol.asyncDispose]();
    assert.ok(looks > 100, `the observer looked only ${looks} times`);
  });

  test('every change that a publication makes is one of the points', async () => {
    const written = rig.gate.writes.length;
    await voyage.switchboard.resetCalls();
    await crash([]);
    assert.deepEqual(
      changesOf(await voyage.switchboard.callLog()),
      vcenterPoints.map(({ what }) => what),
    );
    const known = new Set<string | undefined>(apiPoints.map(({ what }) => what)).add(undefined);
    const names = rig.gate.writes.slice(written).map(writeName);
    assert.deepEqual(
      names.filter((name) => !known.has(name)),
      [],
    );
  });

  for (const point of vcenterPoints) {
    for (const when of whens) test(`${when} ${point.what}`, () => crash([[point, when]]));
  }
  for (const point of apiPoints) {
    // A process that died before a write left what one leaves that died after the change before it: that is tried already.
    for (const when of soaking ? whens : (['after'] as const))
      test(`${when} ${point.what}`, () => crash([[point, when]]));
  }
  for (const when of whens) {
    test(`${when} ${firstPoint.what}`, () => crash([[firstPoint, when]], { first: () => voyage.forget(set) }));
  }
  test(midUploadPoint.what, () => crash([[midUploadPoint, 'before']]));
  for (const when of whens) {
    test(`${midUploadPoint.what}, and ${when} Destroy_Task in the recovery`, () =>
      crash([
        [midUploadPoint, 'before'],
        [destroyPoint, when],
      ]));
  }
});

suite('the rig goes red', () => {
  test('for a publisher that destroys the old template before it imports the new one', async () => {
    await using rig = await startCrashRig(voyage, 'careless', carelessProgram);
    const image = await nextImage();
    const { release } = image;
    const done = () =>
      eventually('the careless publication', async () => {
        const vms = await voyage.switchboard.vms({ folder: rig.folder });
        const found = vms.find(({ name }) => name === installerTemplate);
        return (found?.isTemplate === true && found.productVersion === release) || undefined;
      });
    const point = vcenterPoints[0] ?? assert.fail();
    const outcome = await rig.crash(image, [[point, 'before']], { done });
    assert.ok(outcome.complaints.some((text) => text === `${installerTemplate}: nothing has this name`));
    assert.throws(() => judge(outcome, image, rig.folder), /no longer what it was/);
  });

  test('for each thing that must not be', async () => {
    const image: Image = { release: '1', location: '', sha256: 'a' };
    const [some] = await voyage.switchboard.vms();
    assert.ok(some);
    const neighbour = { ...some, moref: 'vm-neighbour' };
    const made = {
      ...{ ...some, moref: 'vm-made', name: 'made', folder: '/f', isTemplate: true, productVersion: '1' },
      ...{ extraConfig: { 'drydock.birth': '{"digest":"a"}', 'drydock.content': 'x.y' }, tags: ['c/t'] },
    };
    const good: Outcome = {
      ...{ before: [neighbour], after: [neighbour, made], named: 'made', uploads: 2, complaints: [] },
    };
    judge(good, image, '/f');
    const second = { ...made, moref: 'vm-second', name: 'second' };
    const red: readonly (readonly [Partial<Outcome>, RegExp])[] = [
      [{ after: [made] }, /no longer what it was/],
      [{ after: [{ ...neighbour, power: 'suspended' }, made] }, /no longer what it was/],
      [{ after: [neighbour, made, second] }, /exactly one/],
      [{ after: [neighbour, { ...made, isTemplate: false }] }, /exactly one/],
      [{ after: [neighbour] }, /exactly one/],
      [{ named: 'another' }, /exactly one/],
      [{ uploads: 3 }, /3 uploads/],
      [{ complaints: ['made: it vanished'] }, /unfinished or absent/],
    ];
    for (const [change, message] of red) assert.throws(() => judge({ ...good, ...change }, image, '/f'), message);
  });
});
