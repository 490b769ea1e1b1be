import {
  type JsonObject,
  type KindRules,
  listOf,
  metadataOf,
  objectOf,
  withMetadata,
} from '@drydock/kube/testing/api-server';
import { CLEANUP, crdViolations, storedVersionViolations } from './crd-checks.ts';
import type { RulesByKind } from './rules-host.ts';

function storageVersion(crd: JsonObject): unknown {
  return listOf(objectOf(crd['spec'])['versions'])
    .map(objectOf)
    .find(({ storage }) => storage === true)?.['name'];
}

/** `status.storedVersions` keeps each version that was ever the storage version. */
const update: NonNullable<KindRules['update']> = (object, old, { subresource }) => {
  if (subresource === 'status') return object;
  const status = objectOf(object['status'] ?? old['status']);
  const storedVersions = listOf(status['storedVersions']);
  const version = storageVersion(object);
  if (storedVersions.includes(version)) return object;
  return { ...object, status: { ...status, storedVersions: [...storedVersions, version] } };
};

/** A deleted CRD waits for the deletion of its objects. */
function terminating(object: JsonObject, now: string): JsonObject {
  const metadata = metadataOf(object);
  const finalizers = [...listOf(metadata['finalizers']).filter((one) => one !== CLEANUP), CLEANUP];
  const status = objectOf(object['status']);
  const condition = {
    type: 'Terminating',
    status: 'True',
    lastTransitionTime: now,
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  };
  return {
    ...withMetadata(object, { ...metadata, deletionTimestamp: now, finalizers }),
    status: { ...status, conditions: [...listOf(status['conditions']), condition] },
  };
}

export const CRD_RULES: RulesByKind = {
  'apiextensions.k8s.io/CustomResourceDefinition': ({ optionalOldSelf }) => ({
    generation: true,
    create: (object) => ({
      ...object,
      status: {
        conditions: null,
        acceptedNames: { plural: '', kind: '' },
        storedVersions: [storageVersion(object)].filter((one) => one !== undefined),
      },
    }),
    update,
    violations: (object, old, { subresource }) =>
      subresource === 'status' ? storedVersionViolations(object) : crdViolations(object, old, optionalOldSelf),
    deleted: terminating,
  }),
};
