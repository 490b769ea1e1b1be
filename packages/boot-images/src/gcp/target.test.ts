import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImageError } from '../errors.ts';
import type { JsonObject } from '../observe/json.ts';
import { leafPatch, leafText, machineSetSpecPath } from '../observe/provider-spec.ts';
import { parseStream } from '../observe/stream.ts';
import { gcpImage, gcpSet, gcpStream, oldGcpImage, rhcosCloud } from '../testing/fake-gcp.ts';
import { imagePath, parseImage, shortName } from './image-name.ts';
import { bootDisks, type GcpDecision, gcpDecision } from './target.ts';

const old = rhcosCloud(oldGcpImage);
const wanted = rhcosCloud(gcpImage);

function decide(
  images: readonly string[],
  more: { readonly stream?: string; readonly architecture?: string; readonly value?: JsonObject } = {},
): GcpDecision {
  const { stream = gcpStream, architecture = 'x86_64', value = {} } = more;
  const set = gcpSet('wk-a', images, value);
  const spec = set.spec?.template?.spec?.providerSpec?.value ?? {};
  return gcpDecision({ set, spec, architecture, stream: parseStream(stream) });
}

/** `skip REASON`, or the values that are put in, by their paths. */
function shown(decision: GcpDecision): readonly string[] {
  if (decision.kind === 'skip') return [`skip ${decision.counted} ${decision.reason}`];
  return decision.edits.map(({ path, from, to }) => `${path.join('.')}: ${leafText(from ?? '')} → ${leafText(to)}`);
}

test('BI-V77 a boot disk of a release is moved to the image of the stream', () => {
  assert.deepEqual(shown(decide([old])), [`disks.0.image: ${old} → ${wanted}`]);
});

test('BI-V78 a boot disk that has it already is left as it is', () => {
  assert.deepEqual(shown(decide([wanted])), []);
  assert.deepEqual(shown(decide([wanted, old])), [`disks.1.image: ${old} → ${wanted}`]);
});

test('BI-V79 an image of somebody’s own is skipped, counted, with what to do', () => {
  const decision = decide(['projects/my-proj/global/images/custom']);
  assert.deepEqual(shown(decision), ['skip true CustomImage']);
  assert.ok(decision.kind === 'skip');
  assert.equal(
    decision.message,
    'machineset wk-a: boot disk 0 has image projects/my-proj/global/images/custom, which is not one of projects/rhcos-cloud/global/images',
  );
  assert.equal(decision.nextStep, `to have it kept current, set disks[0].image to ${wanted}`);
});

test('BI-V81 one boot disk of somebody’s own keeps all of the set as it is', () => {
  assert.deepEqual(shown(decide([old, 'projects/my-proj/global/images/custom'])), ['skip true CustomImage']);
  assert.deepEqual(shown(decide([wanted, 'projects/my-proj/global/images/custom'])), ['skip true CustomImage']);
});

test('BI-V82 no image at all, a whole address and a marketplace image are skipped', () => {
  for (const image of [
    '',
    `https://www.googleapis.com/compute/v1/${old}`,
    'projects/redhat-marketplace-public/global/images/redhat-coreos-ocp-413-x86-64-202305021736',
    'projects/rhcos-cloud-copies/global/images/a',
  ])
    assert.deepEqual(shown(decide([image])), ['skip true CustomImage'], image);
});

test('BI-V83 a stream without an image for the architecture is an error that names both; so is one that names no image', () => {
  const named = (project: unknown, name: unknown): string =>
    JSON.stringify({ stream: 's', architectures: { x86_64: { images: { gcp: { project, name } } } } });
  for (const [stream, architecture, message] of [
    [gcpStream, 'aarch64', "rhcos-4.22/aarch64: image 'gcp' is not there"],
    [gcpStream, 's390x', "rhcos-4.22/s390x: image 'gcp' is not there"],
    [gcpStream, '__proto__', "rhcos-4.22/__proto__: image 'gcp' is not there"],
    ['{"stream":"s","architectures":{"x86_64":null}}', 'x86_64', "s/x86_64: image 'gcp' is not there"],
    [named('rhcos-cloud', 7), 'x86_64', "s/x86_64: image 'gcp' is not there"],
    [named('rhcos-cloud/../..', 'a'), 'x86_64', "s/x86_64: image 'gcp' names no image of Compute Engine"],
    [named('rhcos-cloud', 'a?alt=media'), 'x86_64', "s/x86_64: image 'gcp' names no image of Compute Engine"],
    [named('rhcos-cloud', 'family/a'), 'x86_64', "s/x86_64: image 'gcp' names no image of Compute Engine"],
  ] as const)
    assert.throws(
      () => decide([old], { stream, architecture }),
      (error) => error instanceof BootImageError && error.code === 'StreamInvalid' && error.message === message,
      message,
    );
  assert.deepEqual(shown(decide(['projects/p/global/images/own'], { architecture: 'aarch64' })), [
    'skip true CustomImage',
  ]);
});

test('BI-V84 the patch names the image alone, guarded by what it was and by the disk being one to boot from', () => {
  const decision = decide([old]);
  assert.ok(decision.kind === 'target');
  const at = '/spec/template/spec/providerSpec/value/disks/0';
  assert.deepEqual(leafPatch(machineSetSpecPath, decision.edits), [
    { op: 'test', path: `${at}/boot`, value: true },
    { op: 'test', path: `${at}/image`, value: old },
    { op: 'replace', path: `${at}/image`, value: wanted },
  ]);
});

test('a spec with wrong types is an error that names the place; one without a boot disk is left alone', () => {
  for (const [disks, path] of [
    ['all', 'disks'],
    [['sda'], 'disks[0]'],
    [[{ boot: 'true' }], 'disks[0].boot'],
    [[null, { boot: true, image: 7 }], 'disks[1].image'],
  ] as const)
    assert.throws(
      () => decide([], { value: { disks } }),
      ({ message }: Error) => message.startsWith(`unmarshal into providerSpec failed: ${path}: `),
      path,
    );
  for (const image of ['\u001b[2J', 'x'.repeat(3_000)])
    assert.throws(
      () => decide([image]),
      (error) => error instanceof BootImageError && error.code === 'NameUnusable' && error.message.length < 200,
    );
  for (const disks of [[], null, undefined, [null], [{ image: old }]])
    assert.deepEqual(shown(decide([], { value: { disks } })), ['skip false NoBootDisk'], JSON.stringify(disks));
  assert.deepEqual(bootDisks({ disks: [{ boot: true, image: null }] }), [{ index: 0, image: '' }]);
});

test('the forms in which an image can be named', () => {
  const image = { project: 'rhcos-cloud', name: 'a', family: false };
  for (const [text, found] of [
    ['projects/rhcos-cloud/global/images/a', image],
    ['https://www.googleapis.com/compute/v1/projects/rhcos-cloud/global/images/a', image],
    ['https://compute.googleapis.com/compute/v1/projects/rhcos-cloud/global/images/a', image],
    ['projects/example.com:legacy/global/images/a', { ...image, project: 'example.com:legacy' }],
    ['projects/rhcos-cloud/global/images/family/f', { ...image, name: 'f', family: true }],
    ['global/images/a', { ...image, project: 'own-project' }],
    ['', undefined],
    ['a', undefined],
    ['projects/rhcos-cloud/global/images/a/b', undefined],
    ['projects/rhcos-cloud/global/images/family/a/b', undefined],
    ['projects/rhcos-cloud/zones/z/disks/a', undefined],
    ['projects/../global/images/a', undefined],
    ['https://elsewhere.example/compute/v1/projects/rhcos-cloud/global/images/a', undefined],
  ] as const)
    assert.deepEqual(parseImage(text, 'own-project'), found, text);
  assert.equal(imagePath(image), 'projects/rhcos-cloud/global/images/a');
  assert.equal(shortName('projects/p/global/images/a, projects/p/global/images/b'), 'a, b');
});
