import { clusterVersionManifest } from '@drydock/crd/testing';
import { type KubeClient, systemClock } from '@drydock/kube';
import {
  applyPayload,
  configMapInventory,
  configMapKept,
  everyServer,
  type Manifest,
  type RollbackEnd,
  type RollbackPorts,
  type RollbackWish,
  readManifestFile,
} from '@drydock/release';
import { accountNamespace } from './rbac-manifests.ts';
import { configMap, hook, widgets, worker } from './way-back-objects.ts';

// A way back without the rest of a manager: between the two releases of the way-back rig, with what it keeps beside the Lease.

function end(minor: 13 | 14): RollbackEnd {
  const version = `4.${minor}.0`;
  const objects = [
    clusterVersionManifest(minor),
    widgets(minor === 14),
    configMap('operator', { version: `4.${minor}` }),
    ...(minor === 14 ? [worker, hook] : []),
  ];
  const manifests = objects.flatMap((object, at): readonly Manifest[] =>
    readManifestFile(`release-manifests/0000_10_shop_0${at}.yaml`, JSON.stringify(object)),
  );
  return { payload: { version, image: `registry/bare:${version}`, hash: version }, manifests };
}

/** Whose objects they are. */
export const bareOwner: { readonly name: string } = { name: 'Payload bare' };
/** The older and the newer release. */
export const bareEnds: Readonly<Record<13 | 14, RollbackEnd>> = { 13: end(13), 14: end(14) };
/** From the newer one to the older one. */
export const bareWish: RollbackWish = {
  ...{ from: bareEnds[14], to: bareEnds[13], owner: bareOwner, accepted: [], attempt: 0 },
};

/** What a way needs. Nobody writes statuses here, so nobody is waited for long. */
export function barePorts(client: KubeClient): RollbackPorts {
  return {
    ...{ client, clock: systemClock, signal: new AbortController().signal, patience: 100 },
    inventory: configMapInventory({ client, namespace: accountNamespace }),
    apply: applyPayload,
    kept: configMapKept({ client, namespace: accountNamespace }),
    columns: everyServer({ client, own: client, at: undefined, clock: systemClock }),
    onProgress: () => undefined,
  };
}
