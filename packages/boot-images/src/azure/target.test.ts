import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImageError } from '../errors.ts';
import type { JsonObject } from '../observe/json.ts';
import { leafPatch, machineSetSpecPath } from '../observe/provider-spec.ts';
import { parseStream } from '../observe/stream.ts';
import {
  type AzureSpecImage,
  aro,
  azureInfrastructure,
  azureMarketplace,
  azureSet,
  azureStream,
  azureStreamWith,
  bought,
  installerUpload,
  oldAzureVersion,
  oldPaidVersion,
  paidImage,
  unpaidImage,
  urnOf,
} from '../testing/fake-azure.ts';
import { imageIn, referenceOf, shortName, uploadedImage } from './image.ts';
import { type AzureDecision, azureDecision, imageOriginAnnotation, wantedImage } from './target.ts';

interface More {
  readonly stream?: string;
  readonly architecture?: string;
  readonly value?: JsonObject;
  readonly annotations?: Readonly<Record<string, string>>;
}

function inputOf(
  image: AzureSpecImage,
  { stream = azureStream, architecture = 'x86_64', value = {}, annotations }: More,
) {
  const made = azureSet('wk-a', image, value);
  const set = {
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, ...annotations } },
  };
  const spec = set.spec?.template?.spec?.providerSpec?.value ?? {};
  return { set, spec, architecture, stream: parseStream(stream), infrastructure: azureInfrastructure() };
}

const decide = (image: AzureSpecImage, more: More = {}): AzureDecision => azureDecision(inputOf(image, more));

/** `skip COUNTED REASON`, `current`, or the image that is put in. */
function shown(decision: AzureDecision): string | JsonObject {
  if (decision.kind === 'skip') return `skip ${decision.counted} ${decision.reason}`;
  return decision.edit === undefined ? 'current' : (decision.edit.to as JsonObject);
}

const upload = (resourceID: string): AzureSpecImage => ({ publisher: '', offer: '', sku: '', version: '', resourceID });
const declared: More = { annotations: { [imageOriginAnnotation]: 'Installer' } };

test('BI-V103 what an installer uploaded of generation 1 moves to the image without a plan; an id of unknown naming does so [N] only where the set says that an installer made it', () => {
  const first = unpaidImage(aro('aro_419'));
  assert.deepEqual(shown(decide(upload(installerUpload()))), first);
  assert.deepEqual(shown(decide(upload('test-gen1-image'))), 'skip true CustomImage');
  assert.deepEqual(shown(decide(upload('test-gen1-image'), declared)), first);
  assert.deepEqual(
    shown(decide(upload('test-gen1-image'), { annotations: { [imageOriginAnnotation]: 'Somebody' } })),
    'skip true CustomImage',
  );
});

test('BI-V104 what an installer uploaded of generation 2 moves to generation 2', () => {
  const second = unpaidImage(aro('419-v2'));
  assert.deepEqual(shown(decide(upload(installerUpload(true)))), second);
  assert.deepEqual(shown(decide(upload('test-gen2-image'))), 'skip true CustomImage');
  assert.deepEqual(shown(decide(upload('test-gen2-image'), declared)), second);
});

test('BI-V106 machines of ARM have an image of their own, from a marketplace or from an upload', () => {
  const arm = { architecture: 'aarch64' };
  assert.deepEqual(shown(decide(unpaidImage(aro('aro_418')), arm)), unpaidImage(aro('419-arm')));
  assert.deepEqual(shown(decide(upload(installerUpload()), arm)), unpaidImage(aro('419-arm')));
  assert.deepEqual(shown(decide(paidImage(bought('rh-ocp-worker', 'x')), arm)), 'skip true NotInStream');
});

test('BI-V107 BI-V111 a set that has the image is left as it is, also where the spec leaves empty fields out', () => {
  assert.equal(shown(decide(unpaidImage(aro('419-v2')))), 'current');
  assert.equal(shown(decide({ ...aro('419-v2'), type: 'MarketplaceNoPlan' })), 'current');
  assert.equal(shown(decide(paidImage(bought('rh-ocp-worker', 'rh-ocp-worker')))), 'current');
});

test('BI-V108 ppc64le and s390x: no write, not counted as skipped', () => {
  for (const architecture of ['ppc64le', 's390x'])
    assert.equal(shown(decide(upload(installerUpload()), { architecture })), 'skip false ArchitectureUnsupported');
});

test('BI-V109 all seven variants, both generations: what was bought stays what was bought', () => {
  for (const product of ['ocp', 'opp', 'oke'])
    for (const emea of [false, true])
      for (const sku of [`rh-${product}-worker`, `rh-${product}-worker-gen1`]) {
        const old = bought(`rh-${product}-worker`, sku, oldPaidVersion, emea);
        const wanted = paidImage(bought(`rh-${product}-worker`, sku, undefined, emea));
        for (const type of ['MarketplaceWithPlan', ''])
          assert.deepEqual(shown(decide({ ...old, type })), wanted, `${urnOf(old)} ${type}`);
      }
  assert.deepEqual(shown(decide(unpaidImage(aro('aro_418', oldAzureVersion)))), unpaidImage(aro('aro_419')));
  assert.deepEqual(shown(decide(unpaidImage(aro('418-v2', oldAzureVersion)))), unpaidImage(aro('419-v2')));
  assert.deepEqual(shown(decide(unpaidImage(aro('aro_422-gen2', oldAzureVersion)))), unpaidImage(aro('419-v2')));
});

test('BI-V112 [FIX] a stream without marketplace images, without extensions or with null there: skipped, never a crash', () => {
  for (const extensions of [
    undefined,
    null,
    'text',
    {},
    { marketplace: null },
    { marketplace: {} },
    { marketplace: { azure: null } },
    { marketplace: { azure: [] } },
  ]) {
    const decision = decide(upload(installerUpload()), { stream: azureStreamWith(extensions) });
    assert.equal(shown(decision), 'skip true NotInStream', JSON.stringify(extensions));
    assert.ok(decision.kind === 'skip' && decision.nextStep !== undefined);
  }
});

test('BI-V113 [N] confidential and trusted-launch machines are skipped and counted, with the type', () => {
  for (const security of ['ConfidentialVM', 'TrustedLaunch']) {
    const value = { securityProfile: { settings: { securityType: security } } };
    const decision = decide(unpaidImage(aro('aro_418')), { value });
    assert.equal(shown(decision), 'skip true SecurityType');
    assert.ok(decision.kind === 'skip' && decision.message.includes(`security type ${security}`));
    assert.equal(wantedImage(inputOf(unpaidImage(aro('aro_418')), { value })), undefined);
  }
});

test('BI-V114 a security profile without a type is none', () => {
  for (const securityProfile of [
    null,
    {},
    { encryptionAtHost: true },
    { settings: {} },
    { settings: { securityType: '' } },
  ])
    assert.deepEqual(
      shown(decide(unpaidImage(aro('418-v2', oldAzureVersion)), { value: { securityProfile } })),
      unpaidImage(aro('419-v2')),
    );
});

test('BI-V116 [N] generation 1 that is gone from the stream is skipped with what to do; so is a variant', () => {
  const { 'no-purchase-plan': unpaid, ocp: _, ...others } = azureMarketplace;
  const { hyperVGen1: __, ...second } = unpaid as JsonObject;
  const stream = azureStreamWith({ marketplace: { azure: { ...others, 'no-purchase-plan': second } } });
  const first = decide(unpaidImage(aro('aro_418')), { stream });
  assert.equal(shown(first), 'skip true NotInStream');
  assert.ok(first.kind === 'skip');
  assert.match(first.message, /no Gen1 Azure marketplace image available for architecture x86_64$/);
  assert.match(first.nextStep ?? '', /generation 2/);
  const variant = decide(paidImage(bought('rh-ocp-worker', 'rh-ocp-worker', oldPaidVersion)), { stream });
  assert.ok(variant.kind === 'skip');
  assert.match(variant.message, /no Azure marketplace images available for variant ocp$/);
  assert.deepEqual(shown(decide(unpaidImage(aro('418-v2')), { stream })), unpaidImage(aro('419-v2')));
});

test('BI-V117 an image without a plan and without a type counts as generation 2', () => {
  for (const sku of ['418-v2', 'aro_418'])
    assert.deepEqual(shown(decide({ ...aro(sku), type: '' })), unpaidImage(aro('419-v2')));
  // All that machine-api reads has to be the same.
  assert.deepEqual(shown(decide({ ...aro('419-v2'), type: '' })), unpaidImage(aro('419-v2')));
});

const gallery = (name: string, image: string): string =>
  `/resourceGroups/images-rg/providers/Microsoft.Compute/galleries/${name}/images/${image}/versions/1.0.0`;

test('what an installer uploaded is known by its names in both forms, in any group, with or without the subscription', () => {
  for (const [id, sku] of [
    [installerUpload(false, 'latest'), 'aro_419'],
    [`/subscriptions/33333333-aaaa${installerUpload(true, '415.92.20240101')}`, '419-v2'],
    [
      '/resourceGroups/of-the-user/providers/Microsoft.Compute/galleries/gallery_c1_abcde/images/c1-abcde/versions/1',
      'aro_419',
    ],
    [
      '/resourcegroups/c1-abcde-rg/providers/microsoft.compute/galleries/gallery_c1_abcde/images/c1-abcde-gen2/versions/1',
      '419-v2',
    ],
    ['/resourceGroups/c1-abcde-rg/providers/Microsoft.Compute/images/c1-abcde', 'aro_419'],
    [
      '/subscriptions/33333333-aaaa/resourceGroups/of-the-user/providers/Microsoft.Compute/images/c1-abcde-gen2',
      '419-v2',
    ],
  ] as const)
    assert.deepEqual(shown(decide(upload(id))), unpaidImage(aro(sku)), id);
});

test('an upload of somebody’s own is skipped with the value that would have it kept current, and how to say that it is an installer’s', () => {
  for (const id of [
    gallery('golden_images', 'rhcos'),
    gallery('gallery_c1_abcde', 'hardened'),
    gallery('gallery_c2_other', 'c1-abcde'),
    '/resourceGroups/c1-abcde-rg/providers/Microsoft.Compute/images/hardened',
    '/resourceGroups/c1-abcde-rg/providers/Microsoft.Compute/images/c1-abcde/versions/1',
    '/communityGalleries/public-1/images/c1-abcde/versions/latest',
    `${installerUpload()}/../x`,
  ]) {
    const decision = decide(upload(id));
    assert.equal(shown(decision), 'skip true CustomImage', id);
    assert.ok(decision.kind === 'skip');
    assert.match(
      decision.nextStep ?? '',
      /set image to \{"publisher":"azureopenshift".*; or annotate it drydock\.dev\/boot-image-origin=Installer/,
    );
  }
});

test('marketplace images that nobody can map, and no image at all, are skipped', () => {
  for (const image of [
    { publisher: 'redhat', offer: 'rhel', sku: '9', version: '1' },
    { publisher: 'canonical', offer: 'rh-ocp-worker', sku: 'rh-ocp-worker', version: '1' },
    { publisher: 'redhat', offer: 'constructor', sku: 'a', version: '1' },
    { publisher: '__proto__', offer: 'rh-ocp-worker', sku: 'a', version: '1' },
    {},
  ])
    assert.equal(shown(decide(image)), 'skip true CustomImage', JSON.stringify(image));
  assert.equal(shown(decide({}, { value: { image: null } })), 'skip true CustomImage');
  const without = decide(upload('/somebody/s'), { architecture: 'riscv64' });
  assert.equal(shown(without), 'skip true CustomImage', 'for what stays as it is the stream need not have anything');
});

test('the patch exchanges the image as a whole, guarded by what it was', () => {
  const old = { ...unpaidImage(aro('418-v2', oldAzureVersion)), unknown: { kept: 'until then' } };
  const decision = decide(old);
  assert.ok(decision.kind === 'target' && decision.edit !== undefined);
  const path = '/spec/template/spec/providerSpec/value/image';
  assert.deepEqual(leafPatch(machineSetSpecPath, [decision.edit]), [
    { op: 'test', path, value: old },
    { op: 'replace', path, value: unpaidImage(aro('419-v2')) },
  ]);
  assert.equal(decision.generation, 'V2');
});

test('a spec with wrong types, and a stream without the architecture or with images that name none, are errors that name the place', () => {
  for (const [image, path] of [
    ['all', 'image'],
    [[], 'image'],
    [{ publisher: 7 }, 'image.publisher'],
    [{ resourceID: {} }, 'image.resourceID'],
  ] as const)
    assert.throws(
      () => decide({}, { value: { image } }),
      ({ message }: Error) => message.startsWith(`unmarshal into providerSpec failed: ${path}: `),
      path,
    );
  for (const [securityProfile, path] of [
    ['all', 'securityProfile'],
    [{ settings: [] }, 'securityProfile.settings'],
    [{ settings: { securityType: 7 } }, 'securityProfile.settings.securityType'],
  ] as const)
    assert.throws(
      () => decide({}, { value: { securityProfile } }),
      ({ message }: Error) => message.startsWith(`unmarshal into providerSpec failed: ${path}: `),
      path,
    );
  for (const sku of ['\u001b[2J', 'x'.repeat(3_000)])
    assert.throws(
      () => decide({ sku }),
      (error) => error instanceof BootImageError && error.code === 'NameUnusable' && error.message.length < 200,
    );
  const named = (member: object): string =>
    azureStreamWith({ marketplace: { azure: { 'no-purchase-plan': { hyperVGen2: { ...aro('a'), ...member } } } } });
  for (const [more, message] of [
    [{ architecture: '__proto__' }, 'rhcos-4.22: stream has no architecture __proto__'],
    [{ stream: '{"stream":"s","architectures":{"x86_64":null}}' }, 's: stream has no architecture x86_64'],
    [{ stream: named({ sku: '../..' }) }, /hyperVGen2\.sku names no image/],
    [{ stream: named({ version: 7 }) }, /hyperVGen2\.version names no image/],
    [{ stream: named({ publisher: '' }) }, /hyperVGen2\.publisher names no image/],
    [{ stream: named({ offer: 'a?b' }) }, /hyperVGen2\.offer names no image/],
  ] as const)
    assert.throws(
      () => decide(unpaidImage(aro('418-v2')), more),
      (error) =>
        error instanceof BootImageError &&
        error.code === 'StreamInvalid' &&
        (typeof message === 'string' ? error.message === message : message.test(error.message)),
      String(message),
    );
});

test('how images are named', () => {
  assert.equal(referenceOf(imageIn({ image: aro('419-v2') })), 'azureopenshift:aro4:419-v2:419.94.20250101');
  assert.equal(referenceOf(imageIn({ image: upload(installerUpload()) })), installerUpload());
  assert.equal(referenceOf(imageIn({})), '');
  assert.equal(shortName(installerUpload()), 'gallery_c1_abcde/c1-abcde/419.94.2025');
  assert.equal(shortName('/resourceGroups/a/providers/Microsoft.Compute/images/b'), 'b');
  assert.equal(shortName('a:b:c:d'), 'a:b:c:d');
  assert.equal(
    uploadedImage('/subscriptions/s/resourceGroups/a/providers/Microsoft.Compute/galleries/g/images/b'),
    undefined,
  );
});
