import { createHash } from 'node:crypto';
import type { VmSummary } from '@drydock/vsphere';

/**
 * Which VM it is, for all time. No single value is unique: whoever creates a VM may choose its instance UUID, a restored vCenter hands out morefs again, and creation dates repeat. vCenter alone sets
 * the moref and the creation date. A clone, a second import, a re-registered VM and a restored copy have another identity.
 */
export interface Identity {
  /** `ServiceContent.about.instanceUuid`. */
  readonly vcenter: string;
  /** Value of the moref. */
  readonly ref: string;
  /** `config.createDate` in ms since 1970. */
  readonly created: number;
  /** `config.instanceUuid`, lower case. */
  readonly instanceUuid: string;
}

/** The identity of a VM; undefined where vCenter does not give all of it: then no record can count. */
export function identityOf(
  vcenter: string,
  { ref, createDate, instanceUuid }: Pick<VmSummary, 'ref' | 'createDate' | 'instanceUuid'>,
): Identity | undefined {
  const created = Date.parse(createDate ?? '');
  if (Number.isNaN(created) || instanceUuid === undefined || instanceUuid === '') return undefined;
  return { vcenter, ref: ref.value, created, instanceUuid: instanceUuid.toLowerCase() };
}

/** 32 hex digits that stand for an identity. */
export function identityKey({ vcenter, ref, created, instanceUuid }: Identity): string {
  const text = JSON.stringify([vcenter, ref, created, instanceUuid]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
