import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, afterEach, before, suite, test } from 'node:test';
import { MachineConfiguration, MachineSet, Secret } from '@drydock/api';
import { progressingType } from '@drydock/boot-images';
import type { Rule, VmView } from '@drydock/sandbox';
import { importedDigest } from './support/imported-digest.ts';
import { startVoyage, type Voyage } from './support/voyage.ts';
import {
  base64,
  clusterTag,
  credentials,
  dataUrl,
  type Image,
  installerTemplate,
  machineApi,
  machineConfigAuthority,
  oldRelease,
  serverName,
} from './support/voyage-cluster.ts';

let voyage: Voyage;

before(async () => {
  voyage = await startVoyage();
});

after(async () => {
  await voyage?.[Symbol.asyncDispose]();
});

type Inventory = ReadonlyMap<string, VmView>;

/** What was in the folder is as it was, and there is exactly one more: the finished template of the release, which the set names. */
async function expectOneMore(set: string, folder: string, was: Inventory, image: Image): Promise<VmView> {
  const is = await voyage.inventory(folder);
  for (const [name, vm] of was) assert.deepEqual(is.get(name), vm);
  const more = [...is.values()].filter(({ name }) => !was.has(name));
  assert.deepEqual(
    more.map(({ isTemplate, power, productVersion, extraConfig, tags }) => ({
      isTemplate,
      power,
      productVersion,
      digest: importedDigest(extraConfig),
      tags,
    })),
    [
      {
        isTemplate: true,
        power: 'poweredOff',
        productVersion: image.release,
        digest: image.sha256,
        tags: [`${clusterTag.category}/${clusterTag.name}`],
      },
    ],
  );
  const [made] = more;
  assert.ok(made);
  assert.equal(await voyage.template(set), made.name);
  return made;
}

test('BI-V31 BI-V163 a release is imported once for two sets, their spec 2 stub is converted, the owned set is skipped', async () => {
  const folder = await voyage.folder('harbour');
  await voyage.createSet({ name: 'worker-a', folder });
  await voyage.createSet({ name: 'worker-b', folder, userData: 'worker-user-data-2019' });
  await voyage.createSet({ name: 'worker-owned', folder, owner: 'legacy-pool' });
  await voyage.current('worker-a', oldRelease);
  await voyage.current('worker-b', oldRelease);
  const was = await voyage.inventory(folder);
  const owned = await voyage.client.get(MachineSet, { namespace: machineApi, name: 'worker-owned' });

  const image = await voyage.image('9.8.20260802-0');
  await voyage.release(image);
  const a = await voyage.current('worker-a', image.release);
  await voyage.current('worker-b', image.release);
  const made = await expectOneMore('worker-a', folder, was, image);
  assert.match(made.name, new RegExp(`^${installerTemplate}-${image.release.replaceAll('.', '\\.')}-[0-9a-f]{8}$`));
  assert.equal(await voyage.template('worker-b'), made.name);
  assert.equal(voyage.mirror.requests(image.location), 1);
  assert.equal((await voyage.switchboard.uploads()).count, 1);
  assert.deepEqual(
    [a.reason, a.progress, a.revertTo, a.template?.name, a.operation],
    ['UpToDate', '-', oldRelease, made.name, undefined],
  );
  for (const reason of ['Planned', 'Switched', 'Retained']) await voyage.event('worker-a', reason);
  await voyage.event('worker-b', 'Switched', made.name);

  const secret = await voyage.client.get(Secret, { namespace: machineApi, name: 'worker-user-data-2019' });
  const { ignition } = JSON.parse(Buffer.from(secret.data?.['userData'] ?? '', 'base64').toString()) as {
    readonly ignition: Readonly<Record<string, unknown>>;
  };
  assert.deepEqual(ignition, {
    config: { merge: [{ source: 'https://api-int.voyage.example:22623/config/worker', verification: {} }] },
    security: { tls: { certificateAuthorities: [{ source: dataUrl(machineConfigAuthority.certificate) }] } },
    version: '3.5.0',
  });
  const annotation = 'machineconfiguration.openshift.io/stub-ignition-upgraded';
  assert.equal(secret.metadata.annotations?.[`${annotation}-to`], '3.5.0');
  assert.ok(!Number.isNaN(Date.parse(secret.metadata.annotations?.[`${annotation}-at`] ?? '')));

  const skipped = await voyage.status('worker-owned', 'skipped', ({ phase }) => phase === 'Skipped');
  assert.equal(skipped.reason, 'Owned');
  assert.match(skipped.message ?? '', /MachinePool legacy-pool/);
  assert.match(skipped.nextStep ?? '', /legacy-pool/);
  assert.deepEqual(await voyage.client.get(MachineSet, { namespace: machineApi, name: 'worker-owned' }), owned);
  await voyage.degraded('False');
  const { status } = await voyage.client.get(MachineConfiguration, { name: 'cluster' });
  const progressing = status?.conditions?.find(({ type }) => type === progressingType);
  assert.equal(progressing?.status, 'False');
  assert.match(progressing.message ?? '', /^Reconciled 2 of 3 MAPI MachineSets \(1 skipped\)/);
  await voyage.goBack('worker-a');
  for (const set of ['worker-a', 'worker-b', 'worker-owned']) await voyage.deleteSet(set);
});

/** Something that a person got wrong, how it is told, and how it is put right. */
interface BadInput {
  readonly name: string;
  readonly title: string;
  /** Spoils something, given the good image; resolves to the image that the golden ConfigMap gets. */
  readonly spoil: (image: Image) => Promise<Image>;
  /** Puts it right; the good image is in the golden ConfigMap again already. */
  readonly repair?: () => Promise<void>;
  /** Nothing that is watched tells of the repair: the set is touched, or the time until the next attempt passes. */
  readonly afterwards?: 'touch' | 'wait';
  readonly phase: 'Blocked' | 'Failed';
  readonly reason: string;
  readonly message: RegExp;
  readonly nextStep: RegExp;
  /** Folder of the set; default one of its own that is there. */
  readonly folder?: string;
}

const missing = '/DC0/vm/not-yet';
const same = async (image: Image): Promise<Image> => image;
const faulty = async (image: Image, rule: Rule): Promise<Image> => {
  await voyage.switchboard.rule(rule);
  return image;
};
const username = `${serverName}.username`;
const setUsername = async (value: string | null): Promise<void> => {
  await voyage.client.mergePatch(Secret, credentials, { data: { [username]: value } } as object);
};
let user: string | undefined;

const inputs: readonly BadInput[] = [
  {
    name: 'no-ova',
    title: 'a file that is no OVA',
    spoil: async ({ release }) => voyage.junk(release),
    phase: 'Blocked',
    reason: 'OvaInvalid',
    message: /the file is no OVA/,
    nextStep: /Check the file/,
  },
  {
    name: 'bad-disk',
    title: 'a disk that is not what the manifest says',
    spoil: ({ release }) => voyage.image(release, { manifest: 'wrong' }),
    phase: 'Failed',
    reason: 'DigestMismatch',
    message: /disk\.vmdk/,
    nextStep: /the one that the release or the catalogue names/,
  },
  {
    name: 'bad-digest',
    title: 'an OVA with another digest than the stream says',
    spoil: async (image) => ({ ...image, sha256: 'f'.repeat(64) }),
    phase: 'Blocked',
    reason: 'DigestMismatch',
    message: /f{64}/,
    nextStep: /the one that the release or the catalogue names/,
  },
  {
    name: 'two-networks',
    title: 'an OVA with two networks',
    spoil: ({ release }) => voyage.image(release, { networks: 2 }),
    phase: 'Blocked',
    reason: 'OvaUnsupported',
    message: /only have a single network adapter, but it has 2/,
    nextStep: /exactly one network adapter/,
  },
  {
    name: 'no-platform',
    title: 'a stream without vSphere',
    spoil: async (image) => ({ ...image, artifact: 'aws' }),
    phase: 'Blocked',
    reason: 'StreamInvalid',
    message: /artifact 'vmware' not found/,
    nextStep: /vmware OVA/,
  },
  {
    name: 'no-login',
    title: 'a Secret without the user of the vCenter',
    spoil: async (image) => {
      user = (await voyage.client.get(Secret, credentials)).data?.[username];
      await setUsername(null);
      return image;
    },
    repair: () => setUsername(user ?? base64('lost')),
    phase: 'Failed',
    reason: 'CredentialsMissing',
    message: /vsphere-creds Secret has no key vcenter\.voyage\.example\.username/,
    nextStep: /kube-system\/vsphere-creds/,
  },
  {
    name: 'no-folder',
    title: 'a folder that is not there',
    folder: missing,
    spoil: same,
    repair: async () => {
      await voyage.folder('not-yet');
    },
    afterwards: 'touch',
    phase: 'Blocked',
    reason: 'FolderNotFound',
    message: /failed to find folder: \/DC0\/vm\/not-yet does not exist on/,
    nextStep: /create it/,
  },
  {
    name: 'no-tag',
    title: 'BI-V143 no tag of the cluster',
    spoil: async (image) => {
      await voyage.switchboard.removeTag(clusterTag.category, clusterTag.name);
      return image;
    },
    repair: async () => {
      await voyage.switchboard.createTag(clusterTag);
    },
    afterwards: 'touch',
    phase: 'Blocked',
    reason: 'TagNotFound',
    message: /failed to attach tag: unable to attach tag: /,
    nextStep: /Create the tag/,
  },
  {
    name: 'no-space',
    title: 'a datastore that is full when the import begins',
    spoil: (image) =>
      faulty(image, {
        on: 'ImportVApp',
        do: 'fault',
        fault: { name: 'NoDiskSpace', message: 'Insufficient disk space on datastore LocalDS_0.' },
      }),
    repair: () => voyage.switchboard.clearRules(),
    afterwards: 'touch',
    phase: 'Blocked',
    reason: 'NoSpace',
    message: /NoDiskSpace/,
    nextStep: /^Free space/,
  },
  {
    name: 'space-ends',
    title: 'a datastore that becomes full during the upload',
    spoil: (image) => faulty(image, { on: 'upload', do: 'status', status: 507 }),
    repair: () => voyage.switchboard.clearRules(),
    afterwards: 'touch',
    phase: 'Failed',
    reason: 'ImportFailed',
    message: /507/,
    nextStep: /what was half-made is removed/,
  },
  {
    name: 'mirror-down',
    title: 'BI-V158 a mirror that answers 500, which is tried again by itself',
    spoil: async (image) => {
      voyage.mirror.fail(500);
      return image;
    },
    repair: async () => voyage.mirror.fail(undefined),
    afterwards: 'wait',
    phase: 'Failed',
    reason: 'DownloadFailed',
    message: /failed to download http:\/\/127\.0\.0\.1:\d+\/\S+: the server answers 500/,
    nextStep: /the server is up/,
  },
];

suite('bad input is told with its next step, leaves nothing half-made, and once put right is forgotten', () => {
  afterEach(async () => {
    // A case that failed must not spoil the next one.
    voyage.mirror.fail(undefined);
    await voyage.switchboard.clearRules();
    for await (const { metadata } of voyage.client.list(MachineSet, { namespace: machineApi })) {
      await voyage.deleteSet(metadata.name);
    }
  });
  for (const [index, input] of inputs.entries()) {
    test(input.title, async () => {
      const { name } = input;
      const image = await voyage.image(`9.8.20260901-${index}`);
      const folder = input.folder ?? (await voyage.folder(name));
      const was = await voyage.inventory(folder);
      const wrong = await input.spoil(image);
      await voyage.release(wrong);
      await voyage.createSet({ name, folder });

      const told = await voyage.status(name, input.reason, ({ reason }) => reason === input.reason);
      assert.equal(told.phase, input.phase);
      assert.match(told.message ?? '', input.message);
      assert.match(told.nextStep ?? '', input.nextStep);
      const event = await voyage.event(name, 'Failed', told.message);
      assert.equal(event.type, 'Warning');
      await voyage.degraded('True', `error syncing MAPI MachineSet ${name}: ${told.message}`);
      assert.deepEqual(await voyage.inventory(folder), was);
      assert.equal(await voyage.template(name), installerTemplate);
      const cached = await readdir(voyage.cacheDir);
      assert.ok(!cached.some((file) => file.includes('f'.repeat(64))), cached.join(' '));

      await input.repair?.();
      const start = input.folder === undefined ? was : await voyage.inventory(folder);
      if (wrong !== image) await voyage.release(image);
      if (input.afterwards === 'touch') await voyage.touch(name);
      await voyage.current(name, image.release);
      await expectOneMore(name, folder, start, image);
      await voyage.degraded('False');
      await voyage.goBack(name);
    });
  }
});

suite('a connection that breaks at a change of vCenter, before or after it acted, costs no template and no foreign machine', () => {
  const set = 'survivor';
  let folder: string;
  before(async () => {
    folder = await voyage.folder('survivor');
    const image = await voyage.image('9.8.20261001-0');
    await voyage.release(image);
    await voyage.createSet({ name: set, folder });
    await voyage.current(set, image.release);
    // A worker has the marks of the template that it was cloned from.
    const template = `${folder}/${await voyage.template(set)}`;
    await voyage.switchboard.cloneVm({ template, name: 'worker-0', powerOn: false });
    const worker = (await voyage.inventory(folder)).get('worker-0');
    assert.equal(importedDigest(worker?.extraConfig ?? {}), image.sha256);
  });

  const changes: readonly (readonly [what: string, on: string])[] = [
    ['ImportVApp', 'ImportVApp'],
    ['the upload', 'upload'],
    ['HttpNfcLeaseComplete', 'HttpNfcLeaseComplete'],
    ['ReconfigVM_Task', 'ReconfigVM_Task'],
    ['the record', 'SetField'],
    ['MarkAsTemplate', 'MarkAsTemplate'],
    ['attaching the tag', 'POST /rest/com/vmware/cis/tagging/tag-association/id:*'],
  ];
  for (const [index, [what, on]] of changes.entries()) {
    for (const how of ['drop-before', 'drop-after'] as const) {
      test(`${what}: ${how}`, async () => {
        const image = await voyage.image(`9.8.202610${10 + 2 * index + (how === 'drop-after' ? 1 : 0)}-0`);
        const was = await voyage.inventory(folder);
        assert.ok(was.has('worker-0') && was.has('survivor-database'));
        await voyage.switchboard.resetUploads();
        await using rule = await voyage.switchboard.rule({ on, do: how, times: 1 });
        await voyage.release(image);
        let touched = false;
        await voyage.status(set, `current at ${image.release}`, ({ phase, current, target }) => {
          if (phase === 'Failed' && target === image.release && !touched) {
            touched = true;
            // Only to spare the pause before the next attempt.
            void voyage.touch(set);
          }
          return phase === 'Current' && current === image.release;
        });
        assert.equal((await rule.state()).taken, 1);
        await expectOneMore(set, folder, was, image);
        const { count } = await voyage.switchboard.uploads();
        assert.ok(count >= 1 && count <= 2, `${count} uploads`);
        await voyage.degraded('False');
      });
    }
  }
});
