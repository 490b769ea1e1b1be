import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BootImage, ConfigMap, Secret } from '@drydock/api';
import { goldenNamespace } from '@drydock/boot-images';
import { createAuthority } from '@drydock/sandbox';
import { imageReach, runDrydock } from './support/image-cli.ts';
import { startVoyage, type Voyage } from './support/voyage.ts';
import { base64, dataUrl, machineApi, machineConfigAuthority, oldRelease, userData } from './support/voyage-cluster.ts';

let voyage: Voyage;

before(async () => {
  voyage = await startVoyage();
});

after(async () => {
  await voyage?.[Symbol.asyncDispose]();
});

/** The stub of the machine set trusts these authorities. */
async function trust(...bundle: readonly string[]): Promise<void> {
  const { data } = userData('worker-user-data', '3.4.0');
  const text = Buffer.from(data?.['userData'] ?? '', 'base64').toString();
  const changed = text.replace(dataUrl(machineConfigAuthority.certificate), dataUrl(bundle.join('')));
  assert.ok(bundle.join('') === machineConfigAuthority.certificate || changed !== text);
  const key = { namespace: machineApi, name: 'worker-user-data' };
  await voyage.client.mergePatch(Secret, key, { data: { userData: base64(changed) } });
}

test('FIND-8 the operator, status, explain and doctor say of an outdated authority that no machine joins, until the stub is corrected', async () => {
  const folder = await voyage.folder('authority');
  await voyage.createSet({ name: 'worker-a', folder });
  await voyage.current('worker-a', oldRelease);
  const conditionOf = async (): Promise<string | undefined> => {
    const { status } = await voyage.client.get(BootImage, { namespace: machineApi, name: 'ms-worker-a' });
    const found = status?.conditions?.find(({ type }) => type === 'StubTrusted');
    return found === undefined ? undefined : `${found.status} ${found.reason}`;
  };
  assert.equal(await conditionOf(), 'True StubAuthorityTrusted', 'kube-system/root-ca counts where there is no other');
  const next = createAuthority('machine-config-server-next');
  await voyage.client.create(ConfigMap, {
    metadata: { namespace: goldenNamespace, name: 'machine-config-server-ca' },
    data: { 'ca-bundle.crt': next.certificate },
  });
  await trust(createAuthority('machine-config-server').certificate);
  const said = await voyage.status('worker-a', 'blocked', ({ phase }) => phase === 'Blocked');
  assert.equal(said.reason, 'StubAuthorityOutdated');
  await voyage.degraded('False');
  const drydock = (...args: readonly string[]) => runDrydock(voyage.sandbox, ...args, ...imageReach(voyage.sandbox));
  const explained = await drydock('explain', 'worker-a');
  const status = await runDrydock(voyage.sandbox, 'status', '-o', 'wide');
  const doctor = await drydock('doctor');
  for (const ran of [explained, status, doctor]) console.log(ran.out);
  assert.match(
    explained.out,
    /NO {3}authority {2}the stub in secret openshift-machine-api\/worker-user-data trusts none of the/,
  );
  assert.match(explained.out, /ms\/worker-a: blocked/);
  assert.match(status.out, /Blocked/);
  assert.match(status.out, /its machines cannot join/);
  assert.match(doctor.out, /FAIL\s+ms\/worker-a/);
  assert.deepEqual([explained.code, doctor.code], [3, 3]);
  await trust(machineConfigAuthority.certificate, next.certificate);
  await voyage.current('worker-a', oldRelease);
  assert.equal(await conditionOf(), 'True StubAuthorityTrusted');
});
