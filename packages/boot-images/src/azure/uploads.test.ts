import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Availability } from '../cloud/availability.ts';
import { type CloudHttps, cloudHttps } from '../cloud/https.ts';
import { parseStream } from '../observe/stream.ts';
import { type FakeAzure, startAzure } from '../testing/clouds/azure.ts';
import { azureInfrastructure, azureSecret, azureSet, azureStream, installerUpload } from '../testing/fake-azure.ts';
import { azureClient } from './client.ts';
import { imageIn } from './image.ts';
import { resourceLook } from './lookup.ts';
import { azureTokens } from './tokens.ts';

let azure: FakeAzure;
let https: CloudHttps;

before(async () => {
  azure = await startAzure();
  https = cloudHttps({ ...azure.options, bounds: { attempts: 1, exchangeMs: 20_000 } });
});
after(async () => {
  await https?.[Symbol.asyncDispose]();
  await azure?.[Symbol.asyncDispose]();
});
beforeEach(() => azure.uploads.clear());

/** Looks at an upload without a memory. */
function look(resourceID: string): Promise<Availability> {
  const set = azureSet('wk-a', { resourceID });
  const spec = set.spec?.template?.spec?.providerSpec?.value ?? {};
  const { look: ask } = resourceLook(azureClient({ https, tokens: azureTokens({ https }) }));
  const rest = { stream: parseStream(azureStream), infrastructure: azureInfrastructure(), installConfig: undefined };
  const secret = (namespace: string) => (namespace === 'drydock' ? azureSecret(azure.keySecret) : undefined);
  return ask({ set, spec, secret, architecture: 'x86_64', cluster: 'c', ...rest }, imageIn(spec), {});
}

const whole = (id: string): string => `/subscriptions/${azure.subscription}${id}`;
const version = (locations: readonly string[], state: string = 'Succeeded', more: object = {}) => ({
  properties: {
    ...{ provisioningState: state },
    publishingProfile: { targetRegions: locations.map((name) => ({ name, regionalReplicaCount: 1 })), ...more },
  },
});

test('an upload is looked at where its id says: a version, the latest one, a managed image', async () => {
  azure.uploads.set(whole(installerUpload()), version(['West Europe', 'North Europe']));
  assert.deepEqual(await look(installerUpload()), { kind: 'available' });
  assert.deepEqual(await look(whole(installerUpload())), { kind: 'available' });
  const latest = installerUpload(false, 'latest');
  assert.deepEqual(await look(latest), { kind: 'available' });
  azure.uploads.set(whole(installerUpload(false, '419.94.10000')), version(['westeurope'], 'Failed'));
  assert.equal((await look(latest)).kind, 'unusable', 'the highest number is the latest');
  azure.uploads.set(
    whole(installerUpload(false, '419.94.10000')),
    version(['westeurope'], 'Failed', { excludeFromLatest: true }),
  );
  assert.deepEqual(await look(latest), { kind: 'available' });
  const managed = '/resourceGroups/c1-abcde-rg/providers/Microsoft.Compute/images/c1-abcde';
  azure.uploads.set(whole(managed), { properties: { provisioningState: 'Succeeded', hyperVGeneration: 'V1' } });
  assert.deepEqual(await look(managed), { kind: 'available' });
});

test('an upload that is gone, being made, not in the location, or of another subscription', async () => {
  const id = installerUpload(true);
  const verdict = async (): Promise<string> => {
    const found = await look(id);
    return found.kind === 'unusable' ? `${found.reason}: ${found.message}` : found.kind;
  };
  assert.match(await verdict(), /^ImageNotPublished: there is no image .* or none that these credentials may see/);
  for (const [state, reason] of [
    ['Creating', 'ImageNotReady'],
    ['Updating', 'ImageNotReady'],
    ['Failed', 'ImageWithdrawn'],
    ['Deleting', 'ImageWithdrawn'],
  ] as const) {
    azure.uploads.set(whole(id), version(['westeurope'], state));
    assert.match(await verdict(), new RegExp(`^${reason}: .* is ${state}, and no machine starts from it`));
  }
  azure.uploads.set(whole(id), version(['northeurope']));
  assert.match(await verdict(), /^ImageNotPublished: .* is not in location westeurope/);
  azure.uploads.set(whole(id), version(['westeurope'], 'Succeeded', { endOfLifeDate: '2026-12-01T00:00:00Z' }));
  assert.deepEqual(await look(id), { kind: 'available', note: 'has its end of life on 2026-12-01T00:00:00Z' });
  const elsewhere = await look(`/subscriptions/44444444-bbbb${id}`);
  assert.ok(elsewhere.kind === 'unverified');
  assert.equal(elsewhere.missing, 'access to subscription 44444444-bbbb');
  assert.match(elsewhere.message, /^“The subscription .* could not be found/);
  assert.equal((await look(installerUpload(false, 'latest'))).kind, 'unusable', 'a gallery without a version');
});
