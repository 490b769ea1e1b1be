import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { inspect } from 'node:util';
import type { Secret } from '@drydock/api';
import type { Availability } from '../cloud/availability.ts';
import { type CloudHttps, cloudHttps } from '../cloud/https.ts';
import { parseStream } from '../observe/stream.ts';
import type { PlatformInput } from '../platform.ts';
import { type FakeCompute, googleError, startCompute } from '../testing/clouds/compute.ts';
import { cloudSecret, gcpImage, gcpInfrastructure, gcpSet, gcpStream, publish } from '../testing/fake-gcp.ts';
import { computeClient } from './client.ts';
import { parseImage } from './image-name.ts';
import { computeLook } from './lookup.ts';
import { gcpTokens } from './tokens.ts';

let compute: FakeCompute;
let https: CloudHttps;
let tokenFile: string;

before(async () => {
  compute = await startCompute();
  https = cloudHttps({ ...compute.options, bounds: { attempts: 1, exchangeMs: 20_000 } });
  tokenFile = join(await mkdtemp(join(tmpdir(), 'drydock-gcp-')), 'token');
  await writeFile(tokenFile, compute.subjectToken);
});
after(async () => {
  await https?.[Symbol.asyncDispose]();
  await compute?.[Symbol.asyncDispose]();
  await rm(join(tokenFile, '..'), { recursive: true });
});
beforeEach(() => {
  compute.images.clear();
  compute.denied.clear();
  compute.fault = undefined;
  compute.keyAccepted = true;
  publish(compute, gcpImage);
});

/** A look without a memory, which may read tokens anywhere. */
function newLook(): ReturnType<typeof computeLook> {
  const readToken = async (file: string): Promise<string> => {
    if (file !== tokenFile) throw new Error(`no token is projected at ${file}`);
    return compute.subjectToken;
  };
  return computeLook(computeClient({ https, tokens: gcpTokens({ https, readToken }) }));
}

interface Asked {
  readonly secrets?: readonly Secret[];
  readonly image?: string;
  readonly value?: Readonly<Record<string, unknown>>;
  readonly architecture?: string;
}

function inputOf({
  secrets = [cloudSecret(compute.keyFile)],
  value = {},
  architecture = 'x86_64',
}: Asked): PlatformInput {
  const set = gcpSet('wk-a', undefined, value);
  return {
    ...{ set, architecture, stream: parseStream(gcpStream), infrastructure: gcpInfrastructure, cluster: 'c' },
    spec: set.spec?.template?.spec?.providerSpec?.value ?? {},
    secret: (namespace, name) =>
      secrets.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    installConfig: undefined,
  };
}

async function look(asked: Asked = {}, looking: ReturnType<typeof computeLook> = newLook()): Promise<Availability> {
  const image = parseImage(asked.image ?? `projects/rhcos-cloud/global/images/${gcpImage}`, 'own-project');
  const found = await looking.look(inputOf(asked), image ?? assert.fail('no image'), {});
  // Nothing of a credential is in what is told.
  assert.doesNotMatch(JSON.stringify(found), /PRIVATE KEY|ya29|subject\.token/);
  return found;
}

const named = (name: string): Secret => ({
  ...cloudSecret(compute.keyFile),
  metadata: { namespace: 'openshift-machine-api', name, uid: 'other', resourceVersion: '1' },
});

test('an image that is READY and not withdrawn is available, by a key, by machine-api’s key and by web identity', async () => {
  assert.deepEqual(await look(), { kind: 'available' });
  assert.deepEqual(await look({ secrets: [named('gcp-cloud-credentials')] }), { kind: 'available' });
  const federated = cloudSecret(compute.federatedFile(tokenFile));
  assert.deepEqual(await look({ secrets: [federated] }), { kind: 'available' });
  assert.ok(compute.hosts.has('iamcredentials.googleapis.com') && compute.hosts.has('sts.googleapis.com'));
});

test('a token and an answer are asked for once, and a Secret that changed is taken up', async () => {
  const looking = newLook();
  const calls = compute.calls.length;
  await Promise.all([look({}, looking), look({}, looking), look({}, looking)]);
  assert.equal(compute.calls.length - calls, 2);
  await look({ secrets: [cloudSecret(compute.keyFile, '2')] }, looking);
  assert.equal(compute.calls.length - calls, 4);
});

const unusable: readonly (readonly [what: string, lay: () => void, asked: Asked, reason: string, message: RegExp])[] = [
  [
    'not published',
    () => compute.images.clear(),
    {},
    'ImageNotPublished',
    /there is no image projects\/rhcos-cloud\/.*/,
  ],
  ['being made', () => void publish(compute, gcpImage, { status: 'PENDING' }), {}, 'ImageNotReady', /is PENDING/],
  ['failed', () => void publish(compute, gcpImage, { status: 'FAILED' }), {}, 'ImageWithdrawn', /is FAILED/],
  [
    'obsolete',
    () => void publish(compute, gcpImage, { deprecated: { state: 'OBSOLETE', replacement: 'https://x/newer' } }),
    {},
    'ImageWithdrawn',
    /withdrawn \(OBSOLETE\).*names newer instead/,
  ],
  [
    'deleted',
    () => void publish(compute, gcpImage, { deprecated: { state: 'DELETED' } }),
    {},
    'ImageWithdrawn',
    /withdrawn \(DELETED\)/,
  ],
  ['of another architecture', () => undefined, { architecture: 'aarch64' }, 'ImageIncompatible', /X86_64.*are ARM64/],
  [
    'without UEFI where shielded machines ask for it',
    () => void publish(compute, gcpImage, { features: [] }),
    { value: { shieldedInstanceConfig: { secureBoot: 'Enabled' } } },
    'ImageIncompatible',
    /not UEFI_COMPATIBLE, which shieldedInstanceConfig\.secureBoot/,
  ],
  [
    'without SEV-SNP where confidential machines ask for it',
    () => undefined,
    { value: { confidentialCompute: 'AMDEncryptedVirtualizationNestedPaging' } },
    'ImageIncompatible',
    /not SEV_SNP_CAPABLE/,
  ],
];

for (const [what, lay, asked, reason, message] of unusable) {
  test(`an image that is ${what} is known not to start`, async () => {
    lay();
    const found = await look(asked);
    assert.ok(found.kind === 'unusable', JSON.stringify(found));
    assert.equal(found.reason, reason);
    assert.match(found.message, message);
    assert.notEqual(found.nextStep, '');
  });
}

test('a deprecated image starts, and is named with its end; an image that says nothing of its architecture is taken', async () => {
  const obsolete = '2027-01-01T00:00:00.000-08:00';
  publish(compute, gcpImage, { deprecated: { state: 'DEPRECATED', obsolete } });
  assert.deepEqual(await look(), { kind: 'available', note: `is deprecated and will be withdrawn on ${obsolete}` });
  compute.images.set(`rhcos-cloud/${gcpImage}`, { project: 'rhcos-cloud', name: gcpImage, status: 'READY' });
  assert.deepEqual(await look(), { kind: 'available' });
  assert.deepEqual(await look({ value: { shieldedInstanceConfig: { secureBoot: 'Disabled' } } }), {
    kind: 'available',
  });
});

test('a family is the newest of its images that nobody deprecated; a whole address names the same image', async () => {
  publish(compute, 'rhcos-1', { family: 'rhcos' });
  assert.deepEqual(await look({ image: 'projects/rhcos-cloud/global/images/family/rhcos' }), { kind: 'available' });
  const address = `https://www.googleapis.com/compute/v1/projects/rhcos-cloud/global/images/${gcpImage}`;
  assert.deepEqual(await look({ image: address }), { kind: 'available' });
  const none = await look({ image: 'projects/rhcos-cloud/global/images/family/none' });
  assert.equal(none.kind, 'unusable');
});

/** `missing: message` of a look that could not be had. */
async function missing(asked: Asked): Promise<string> {
  const found = await look(asked);
  assert.ok(found.kind === 'unverified', JSON.stringify(found));
  return `${found.missing}: ${found.message}`;
}

test('no right: the permission is named', async () => {
  compute.denied.add('rhcos-cloud');
  assert.match(
    await missing({}),
    /^permission compute\.images\.get on project rhcos-cloud: “Required 'compute\.images\.get'/,
  );
  compute.fault = ({ path }) =>
    path.startsWith('/compute/')
      ? googleError(403, 'Compute Engine API has not been used in project 1', 'accessNotConfigured', 'usageLimits')
      : undefined;
  assert.match(await missing({}), /^the Compute Engine API \(compute\.googleapis\.com\), which is not enabled/);
});

test('Secrets that are missing, half-filled, of another form, or no longer accepted: what is missing is named', async () => {
  const own = JSON.parse(compute.keyFile) as Readonly<Record<string, unknown>>;
  const file = (change: object): Asked => ({ secrets: [cloudSecret(JSON.stringify({ ...own, ...change }))] });
  assert.match(
    await missing({ secrets: [] }),
    /^Secret drydock\/drydock-cloud-credentials or openshift-machine-api\/gcp-/,
  );
  const { data: _, ...empty } = cloudSecret('');
  for (const [asked, why] of [
    [{ secrets: [empty] }, /has no key service_account\.json/],
    [{ secrets: [cloudSecret('{"private_key": "PRIVATE KEY')] }, /is not JSON/],
    [{ secrets: [cloudSecret('[]')] }, /is no object/],
    [file({ type: 'authorized_user' }), /neither service_account nor external_account/],
    [file({ client_email: '' }), /lacks client_email/],
    [file({ private_key: undefined }), /lacks private_key/],
    [file({ private_key: 'PRIVATE KEY' }), /private_key is no PEM key/],
    [file({ token_uri: 'https://elsewhere.example/token' }), /token_uri is no address of Google/],
    [file({ token_uri: 'http://oauth2.googleapis.com/token' }), /token_uri is no address of Google/],
    [file({ client_email: 'gone@own-project.iam.gserviceaccount.com' }), /refused to get a token.*account not found/],
    [{ secrets: [cloudSecret(compute.federatedFile('/var/run/secrets/none'))] }, /no token is projected at/],
  ] as const)
    assert.match(await missing(asked), why);
  compute.keyAccepted = false;
  assert.match(await missing({}), /^valid credentials: .*invalid_grant/);
});

test('machine-api’s tokens are never used, also where ours lack something', async () => {
  const theirs = {
    ...named('gcp-cloud-credentials'),
    data: { 'service_account.json': Buffer.from(compute.federatedFile(tokenFile)).toString('base64') },
  };
  const calls = compute.calls.length;
  assert.match(await missing({ secrets: [theirs] }), /has no static key, and its tokens are machine-api's own/);
  assert.equal(compute.calls.length, calls);
});

test('a token that was revoked is replaced once', async () => {
  const looking = newLook();
  await look({}, looking);
  compute.revoke();
  publish(compute, 'another');
  const image = 'projects/rhcos-cloud/global/images/another';
  assert.deepEqual(await look({ image }, looking), { kind: 'available' });
  compute.fault = ({ path }) => (path.startsWith('/compute/') ? googleError(401, 'Invalid', 'authError') : undefined);
  assert.match(await missing({}), /^valid credentials: Compute Engine refused them/);
});

for (const [what, fault] of [
  ['503', googleError(503, 'Backend Error', 'backendError')],
  ['429', googleError(429, 'Quota exceeded', 'rateLimitExceeded', 'usageLimits')],
  ['a rate limit that comes as 403', googleError(403, 'Rate Limit Exceeded', 'rateLimitExceeded', 'usageLimits')],
  ['a truncated answer', 'truncated'],
  ['a reset', 'reset'],
] as const) {
  test(`${what} is none of the answers: it is thrown, to be asked again, and tells no secret`, async () => {
    compute.fault = ({ path }) => (path.startsWith('/compute/') ? fault : undefined);
    await assert.rejects(look(), (error: Error & { readonly code?: string; readonly retriable?: boolean }) => {
      assert.doesNotMatch(inspect(error, { depth: 8, showHidden: true }), /PRIVATE KEY|ya29/);
      return error.code === 'CloudUnavailable' && error.retriable === true;
    });
  });
}

test('an answer that is no image, or another one, is no answer', async () => {
  for (const body of [[], {}, 'text', { name: 'other', status: 'READY' }, { name: gcpImage }]) {
    compute.fault = ({ path }) => (path.startsWith('/compute/') ? { status: 200, body } : undefined);
    await assert.rejects(look(), ({ message }: Error) => /is no image of that name/.test(message));
  }
});
