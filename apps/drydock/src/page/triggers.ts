import { BootImage, BootImagePolicy, ClusterVersion, ConfigMap, Event, Lease, MachineSet, Payload } from '@drydock/api';
import { goldenName, goldenNamespace, machineApiNamespace } from '@drydock/boot-images';
import { ApiError, createCache, type KubeObject, type Observer, type Resource, type Selector } from '@drydock/kube';
import { REPORTERS } from '../events-of-ours.ts';
import { LOGINS } from '../login-notes.ts';
import { VCENTERS } from '../vcenter-notes.ts';

/** What a watch keeps of an object: enough to tell whether it changed. */
type Light = KubeObject & { readonly seen?: string };

/** Calls back when something that the page shows may have changed. What may not be watched is seen at the next look all the same. Disposal ends the watches. */
export function pageTriggers(client: Observer, leaseNamespace: string, changed: () => void): AsyncDisposable {
  const stop = new AbortController();
  const watches = [
    watch(BootImage, {}),
    watch(BootImagePolicy, {}),
    watch(MachineSet, { namespace: machineApiNamespace }),
    watch(ClusterVersion, {}),
    watch(Payload, {}),
    watch(ConfigMap, named(goldenNamespace, goldenName)),
    watch(ConfigMap, named(leaseNamespace, LOGINS)),
    watch(ConfigMap, named(leaseNamespace, VCENTERS)),
    // Renewed every two seconds: only another holder is a change.
    watch(Lease, named(leaseNamespace, 'drydock-boot-images'), ({ spec, metadata }) =>
      JSON.stringify([spec?.holderIdentity, metadata.annotations]),
    ),
    ...REPORTERS.map((reporter) => watch(Event, { fields: `reportingController=${reporter}` })),
  ];

  function watch<T extends KubeObject>(
    resource: Resource<T>,
    where: Selector,
    seenOf?: (object: T) => string,
  ): AsyncDisposable {
    const own = new AbortController();
    const cache = createCache<Light>({
      client,
      resource: resource as Resource<Light>,
      where,
      transform: (object) => light(object as Light & T, seenOf),
      // A kind that is not served, or that may not be read, is asked for again and again by a cache: the page looks at it without.
      onError: (error) => {
        if (error instanceof ApiError && (error.code === 'Forbidden' || error.code === 'NotFound')) own.abort();
      },
      signal: AbortSignal.any([stop.signal, own.signal]),
    });
    cache.subscribe(({ initial, old, now }) => {
      if (initial || (seenOf !== undefined && old?.seen === now?.seen)) return;
      changed();
    });
    return cache;
  }

  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.allSettled(watches.map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

function named(namespace: string, name: string): Selector {
  return { namespace, fields: `metadata.name=${name}` };
}

function light<T extends Light>(object: T, seenOf: ((object: T) => string) | undefined): Light {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  return {
    ...(object.apiVersion === undefined ? {} : { apiVersion: object.apiVersion }),
    ...(object.kind === undefined ? {} : { kind: object.kind }),
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    ...(seenOf === undefined ? {} : { seen: seenOf(object) }),
  };
}
