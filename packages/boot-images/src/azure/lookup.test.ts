import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { inspect } from 'node:util';
import type { Infrastructure, Secret } from '@drydock/api';
import type { Availability } from '../cloud/availability.ts';
import { type CloudHttps, cloudHttps } from '../cloud/https.ts';
import { parseStream } from '../observe/stream.ts';
import type { PlatformInput } from '../platform.ts';
import { azureError, type FakeAzure, startAzure } from '../testing/clouds/azure.ts';
import {
  type AzureSpecImage,
  aro,
  azureInfrastructure,
  azureSecret,
  azureSet,
  azureStream,
  bought,
  installerUpload,
  type MarketplaceUrn,
  paidImage,
  publishAzure,
  publishReleases,
  unpaidImage,
  urnOf,
} from '../testing/fake-azure.ts';
import { azureClient } from './client.ts';
import { type HyperVGeneration, imageIn } from './image.ts';
import { resourceLook } from './lookup.ts';
import { azureTokens } from './tokens.ts';

let azure: FakeAzure;
let https: CloudHttps;
let tokenFile: string;
const second = aro('419-v2');
const paid = bought('rh-ocp-worker', 'rh-ocp-worker');

before(async () => {
  azure = await startAzure();
  https = cloudHttps({ ...azure.options, bounds: { attempts: 1, exchangeMs: 20_000, bytes: 1 << 20 } });
  tokenFile = join(await mkdtemp(join(tmpdir(), 'drydock-azure-')), 'token');
  await writeFile(tokenFile, azure.subjectToken);
});
after(async () => {
  await https?.[Symbol.asyncDispose]();
  await azure?.[Symbol.asyncDispose]();
  await rm(join(tokenFile, '..'), { recursive: true });
});
beforeEach(() => {
  for (const map of [azure.images, azure.uploads, azure.terms]) map.clear();
  azure.denied.clear();
  azure.fault = undefined;
  azure.secretAccepted = true;
  publishReleases(azure);
});

/** A look without a memory, which may read tokens anywhere. */
function newLook(): ReturnType<typeof resourceLook> {
  const readToken = async (file: string): Promise<string> => {
    if (file !== tokenFile) throw new Error(`no token is projected at ${file}`);
    return azure.subjectToken;
  };
  return resourceLook(azureClient({ https, tokens: azureTokens({ https, readToken }) }));
}

interface Asked {
  readonly secrets?: readonly Secret[];
  readonly image?: AzureSpecImage;
  readonly generation?: HyperVGeneration;
  readonly value?: Readonly<Record<string, unknown>>;
  readonly architecture?: string;
  readonly infrastructure?: Infrastructure;
}

function inputOf(asked: Asked): PlatformInput {
  const { secrets = [azureSecret(azure.keySecret)], value = {}, architecture = 'x86_64' } = asked;
  const set = azureSet('wk-a', asked.image ?? unpaidImage(second), value);
  return {
    ...{ set, architecture, stream: parseStream(azureStream), cluster: 'c', installConfig: undefined },
    infrastructure: asked.infrastructure ?? azureInfrastructure(),
    spec: set.spec?.template?.spec?.providerSpec?.value ?? {},
    secret: (namespace, name) =>
      secrets.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  };
}

async function look(asked: Asked = {}, looking: ReturnType<typeof resourceLook> = newLook()): Promise<Availability> {
  const input = inputOf(asked);
  const { generation } = asked;
  const found = await looking.look(input, imageIn(input.spec), generation === undefined ? {} : { generation });
  // Nothing of a credential is in what is told.
  assert.doesNotMatch(JSON.stringify(found), /secret-of-drydock|eyJ0|subject\.token/);
  return found;
}

const theirs = (data: Readonly<Record<string, string>>): Secret => ({
  ...azureSecret(data),
  metadata: { namespace: 'openshift-machine-api', name: 'azure-cloud-credentials', uid: 'other', resourceVersion: '1' },
});

test('an image that is in the location is available, by a secret, by machine-api’s and by workload identity', async () => {
  assert.deepEqual(await look({ generation: 'V2' }), { kind: 'available' });
  assert.deepEqual(await look({ secrets: [theirs(azure.keySecret)] }), { kind: 'available' });
  assert.deepEqual(await look({ secrets: [azureSecret(azure.federatedSecret(tokenFile))] }), { kind: 'available' });
  assert.deepEqual(await look({ image: paidImage(paid) }), { kind: 'available' });
  assert.deepEqual(await look({ value: { location: 'West Europe' } }), { kind: 'available' });
});

test('each cloud has addresses of its own; a Resource Manager that Infrastructure names takes the place of the cloud’s', async () => {
  for (const [cloudName, login, management] of [
    ['', 'login.microsoftonline.com', 'management.azure.com'],
    ['AzureUSGovernmentCloud', 'login.microsoftonline.us', 'management.usgovcloudapi.net'],
    ['AzureChinaCloud', 'login.chinacloudapi.cn', 'management.chinacloudapi.cn'],
  ] as const) {
    const calls = azure.calls.length;
    assert.deepEqual(await look({ infrastructure: azureInfrastructure({ cloudName }) }), { kind: 'available' });
    assert.deepEqual(
      azure.calls.slice(calls).map(({ host }) => host),
      [login, management],
    );
  }
  const calls = azure.calls.length;
  const armEndpoint = 'https://management.usgovcloudapi.net/';
  await look({ infrastructure: azureInfrastructure({ armEndpoint }) });
  assert.equal(azure.calls[calls + 1]?.host, 'management.usgovcloudapi.net');
  for (const [change, why] of [
    [{ cloudName: 'AzureGermanCloud' }, /no addresses of AzureGermanCloud are known/],
    [{ cloudName: 'constructor' }, /no addresses of constructor are known/],
    [{ armEndpoint: 'http://management.local' }, /armEndpoint of Infrastructure cluster is no https/],
  ] as const)
    assert.match(await missing({ infrastructure: azureInfrastructure(change) }), why);
});

test('a token and an answer are asked for once, and a Secret that changed is taken up', async () => {
  const looking = newLook();
  const calls = azure.calls.length;
  await Promise.all([look({}, looking), look({}, looking), look({}, looking)]);
  assert.equal(azure.calls.length - calls, 2);
  await look({ secrets: [azureSecret(azure.keySecret, '2')] }, looking);
  assert.equal(azure.calls.length - calls, 4);
});

const deprecated = (imageState: string, more: object = {}) => ({ deprecation: { imageState, ...more } });
const unusable: readonly (readonly [what: string, lay: () => void, asked: Asked, reason: string, message: RegExp])[] = [
  [
    'in another location alone',
    () => {
      azure.images.clear();
      publishAzure(azure, second, { location: 'northeurope' });
    },
    {},
    'ImageNotPublished',
    /there is no image azureopenshift:aro4:419-v2:419\.94\.20250101 in location westeurope of Azure/,
  ],
  [
    'withdrawn',
    () =>
      publishAzure(azure, second, deprecated('Deprecated', { alternativeOption: { type: 'Plan', value: '420-v2' } })),
    {},
    'ImageWithdrawn',
    /withdrawn \(Deprecated\).*names 420-v2 instead/,
  ],
  ['of another architecture', () => undefined, { architecture: 'aarch64' }, 'ImageIncompatible', /for x64.*are Arm64/],
  [
    'of the other generation',
    () => publishAzure(azure, second, { generation: 'V1' }),
    { generation: 'V2' },
    'ImageIncompatible',
    /Hyper-V generation V1, the machines are of V2/,
  ],
  [
    'sold by a plan that the set does not name',
    () => publishAzure(azure, second, { plan: true }),
    {},
    'ImageIncompatible',
    /sold by a plan, which the machines do not name/,
  ],
  [
    'sold by no plan where the set names one',
    () => publishAzure(azure, paid, { plan: false }),
    { image: paidImage(paid) },
    'ImageIncompatible',
    /sold by no plan, and the machines name one/,
  ],
  [
    'sold by a plan whose terms nobody accepted',
    () => void azure.terms.set('redhat:rh-ocp-worker:rh-ocp-worker', false),
    { image: paidImage(paid) },
    'ImageTermsNotAccepted',
    /the terms of plan redhat:rh-ocp-worker:rh-ocp-worker are not accepted in subscription 33333333-/,
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

test('the next step for terms is the command that accepts them', async () => {
  azure.terms.set('redhat:rh-ocp-worker:rh-ocp-worker', false);
  const found = await look({ image: paidImage(paid) });
  assert.ok(found.kind === 'unusable');
  assert.equal(
    found.nextStep,
    `read and accept them: az vm image terms accept --publisher redhat --offer rh-ocp-worker --plan rh-ocp-worker --subscription ${azure.subscription}`,
  );
});

test('an image that is going to be withdrawn starts, and is named with its end; one that says nothing of itself is taken', async () => {
  const scheduledDeprecationTime = '2027-01-01T00:00:00Z';
  publishAzure(azure, second, deprecated('ScheduledForDeprecation', { scheduledDeprecationTime }));
  assert.deepEqual(await look(), {
    ...{ kind: 'available', note: `is deprecated and will be withdrawn on ${scheduledDeprecationTime}` },
  });
  azure.images.set(`westeurope ${urnOf(second)}`, {});
  assert.deepEqual(await look({ generation: 'V2' }), { kind: 'available' });
});

/** `missing: message` of a look that could not be had. */
async function missing(asked: Asked): Promise<string> {
  const found = await look(asked);
  assert.ok(found.kind === 'unverified', JSON.stringify(found));
  return `${found.missing}: ${found.message}`;
}

test('no right: the permission is named, also where only the terms may not be read', async () => {
  azure.denied.add('Microsoft.MarketplaceOrdering/offertypes/publishers/offers/plans/agreements/read');
  assert.match(
    await missing({ image: paidImage(paid) }),
    /^permission Microsoft\.MarketplaceOrdering\/offertypes\/publishers\/offers\/plans\/agreements\/read on subscription 33333333-.*does not have authorization/,
  );
  assert.deepEqual(await look(), { kind: 'available' }, 'without a plan there are none');
  azure.denied.add('Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read');
  assert.match(
    await missing({}),
    /^permission Microsoft\.Compute\/locations\/.*\/versions\/read on subscription 33333333-/,
  );
  azure.denied.add('Microsoft.Compute/galleries/images/versions/read');
  assert.match(
    await missing({ image: { resourceID: installerUpload() } }),
    /^permission Microsoft\.Compute\/galleries\/images\/versions\/read on/,
  );
});

test('terms that are known not to be accepted count, also where the image may not be looked at', async () => {
  azure.denied.add('Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read');
  azure.terms.set('redhat:rh-ocp-worker:rh-ocp-worker', false);
  const found = await look({ image: paidImage(paid) });
  assert.ok(found.kind === 'unusable' && found.reason === 'ImageTermsNotAccepted');
});

test('what says nothing of the image is no verdict on it: a provider that is not registered, terms that cannot be read, an image without a version', async () => {
  const compute = (status: number, code: string): void => {
    azure.fault = ({ path }) =>
      path.includes('/Microsoft.Compute/') ? azureError(status, code, 'not registered') : undefined;
  };
  for (const [status, code] of [
    [409, 'MissingSubscriptionRegistration'],
    [400, 'NoRegisteredProviderFound'],
  ] as const) {
    compute(status, code);
    assert.match(
      await missing({}),
      /^provider Microsoft\.Compute, registered in subscription 33333333-.*: “not registered”/,
    );
  }
  azure.fault = undefined;
  azure.terms.clear();
  assert.match(
    await missing({ image: paidImage(paid) }),
    /^whether the terms of plan redhat:rh-ocp-worker:rh-ocp-worker are accepted: “Offer .* not found/,
  );
  for (const image of [unpaidImage({ ...second, version: 'latest' }), { publisher: 'redhat' }])
    assert.match(await missing({ image }), /names no version/);
  assert.match(await missing({ image: { resourceID: 'test-gen1-image' } }), /neither of a gallery nor of a managed/);
  for (const location of ['', 7, 'a/../b', '?x=1'])
    assert.match(await missing({ value: { location } }), /^location in the provider spec/);
});

test('Secrets that are missing, half-filled, of another account, or no longer accepted: what is missing is named', async () => {
  const own = azure.keySecret;
  const data = (change: Readonly<Record<string, string>>): Asked => ({ secrets: [azureSecret({ ...own, ...change })] });
  assert.match(
    await missing({ secrets: [] }),
    /^Secret drydock\/drydock-cloud-credentials or openshift-machine-api\/azure-cloud-credentials: /,
  );
  for (const [asked, why] of [
    [{ secrets: [azureSecret({})] }, /has no key azure_tenant_id/],
    [data({ azure_tenant_id: '' }), /has no key azure_tenant_id/],
    [data({ azure_client_id: '' }), /has no key azure_client_id/],
    [data({ azure_subscription_id: '' }), /has no key azure_subscription_id/],
    [data({ azure_tenant_id: 'a/../b' }), /azure_tenant_id of Secret .* is no id/],
    [data({ azure_client_secret: '' }), /has neither azure_client_secret nor azure_federated_token_file/],
    [data({ azure_tenant_id: 'other-tenant' }), /AADSTS90002: Tenant 'other-tenant' not found/],
    [data({ azure_client_id: 'gone' }), /AADSTS700016: Application with identifier 'gone'/],
    [data({ azure_client_secret: 'expired' }), /^valid credentials: .*invalid_client, AADSTS7000215/],
    [data({ azure_subscription_id: 'another' }), /^access to subscription another: /],
    [{ secrets: [azureSecret(azure.federatedSecret('/var/run/secrets/none'))] }, /no token is projected at/],
  ] as const)
    assert.match(await missing(asked), why);
  azure.secretAccepted = false;
  const refused = await missing({});
  assert.match(refused, /^valid credentials: .*login\.microsoftonline\.com refused to get a token/);
  assert.doesNotMatch(refused, /Trace ID|Correlation/);
});

test('machine-api’s tokens are never used', async () => {
  const calls = azure.calls.length;
  const secrets = [theirs(azure.federatedSecret(tokenFile))];
  assert.match(await missing({ secrets }), /has no static key, and its tokens are machine-api's own/);
  assert.equal(azure.calls.length, calls);
});

test('a token that was revoked is replaced once', async () => {
  const looking = newLook();
  await look({}, looking);
  azure.revoke();
  const another: MarketplaceUrn = aro('419-v2', '1.2.3');
  publishAzure(azure, another);
  assert.deepEqual(await look({ image: unpaidImage(another) }, looking), { kind: 'available' });
  azure.fault = ({ host }) =>
    host.startsWith('management.') ? azureError(401, 'ExpiredAuthenticationToken', 'expired') : undefined;
  assert.match(await missing({}), /^valid credentials: Azure refused them: “expired”/);
});

for (const host of ['management.azure.com', 'login.microsoftonline.com'])
  for (const [what, fault] of [
    ['503', azureError(503, 'ServerBusy', 'busy')],
    ['500', azureError(500, 'InternalServerError', 'error')],
    ['429 with Retry-After', azureError(429, 'TooManyRequests', 'slower', { 'retry-after': '60' })],
    ['a truncated answer', 'truncated'],
    ['a reset', 'reset'],
    ['no answer', 'hang'],
    ['an answer that drips', 'drip'],
  ] as const) {
    test(`${what} of ${host} is none of the answers: it is thrown, to be asked again, and tells no secret`, async () => {
      azure.fault = (call) => (call.host === host ? fault : undefined);
      await assert.rejects(look(), (error: Error & { readonly code?: string; readonly retriable?: boolean }) => {
        assert.doesNotMatch(inspect(error, { depth: 8, showHidden: true }), /secret-of-drydock|eyJ0/);
        return error.code === 'CloudUnavailable' && error.retriable === true;
      });
    });
  }

test('an answer that is no image, another one, no terms, or has no end, is no answer', async () => {
  const named = { name: second.version };
  for (const body of [[], {}, 'text', named, { ...named, properties: [] }, { name: 'other', properties: {} }]) {
    azure.fault = ({ path }) => (path.includes('/vmimage/') ? { status: 200, body } : undefined);
    await assert.rejects(look(), ({ message }: Error) => /not what was asked for/.test(message));
  }
  azure.fault = ({ path }) =>
    path.includes('/agreements/') ? { status: 200, body: { properties: { accepted: 'yes' } } } : undefined;
  await assert.rejects(look({ image: paidImage(paid) }), ({ message }: Error) => /get the terms of plan/.test(message));
  azure.fault = ({ path }) => (path.includes('/vmimage/') ? 'endless' : undefined);
  await assert.rejects(look(), ({ message }: Error) => /larger than/.test(message));
  azure.fault = ({ path }) => (path.includes('/vmimage/') ? azureError(418, 'Teapot', 'no') : undefined);
  await assert.rejects(look(), ({ message }: Error) => /HTTP 418: “no”/.test(message));
});
