import { isNotFound, type KubeObject } from '@drydock/kube';
import type { RescueStep } from './decide.ts';
import { type Patient, type RescuePorts, writeStatus } from './patient.ts';
import { evict, Pod } from './writer-pods.ts';

/** Who writes into the ledger. */
const ORIGIN = 'drydock release rescue';

/**
 * One step that writes. Each is seen wholly or not at all by the look after it. Resolves to what forbids an eviction, which may be tried
 * again. Rejects with `ApiError`; a conflict means that somebody else was faster.
 */
export async function actRescue(
  step: Extract<RescueStep, { readonly kind: 'save' | 'write' | 'restart' }>,
  patient: Patient,
  ports: RescuePorts,
  { forceDelete }: { readonly forceDelete: boolean },
): Promise<string | undefined> {
  const { client, ledger, now, records, signal } = ports;
  const { judge, object } = patient;
  const { name, namespace, resourceVersion = '', uid = '' } = object.metadata;
  switch (step.kind) {
    case 'save': {
      const named = namespace === undefined ? name : `${namespace}/${name}`;
      const stored = (object as { readonly status?: object }).status ?? {};
      const origin = { schemaHash: judge.hash, firstSeen: now(), release: ORIGIN };
      // First what would be lost; then whose memory has it, and what will be written.
      if (step.lost.length > 0)
        await ledger.grow({ uid, object: named, resourceVersion }, step.lost, origin, stored as never);
      await records.save(uid, step.record);
      return undefined;
    }
    case 'write':
      await writeStatus(judge, { ...object, status: step.status } as KubeObject, ports);
      return undefined;
    case 'restart':
      if (!forceDelete) return evict(step.pod, client, { signal });
      await client.delete(Pod, step.pod.key, { uid: step.pod.uid }, { signal }).catch((cause: unknown) => {
        // Somebody else has done it.
        if (!isNotFound(cause)) throw cause;
      });
      return undefined;
  }
}
