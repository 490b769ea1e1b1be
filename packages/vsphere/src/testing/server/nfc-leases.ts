import { createHash, type Hash } from 'node:crypto';
import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { type Machine, newRef } from '../inventory.ts';
import type { LeaseRecord, LeaseTarget } from './lease-record.ts';
import type { Refusal } from './soap-refusal.ts';
import { refusal } from './soap-refusal.ts';
import { faultData } from './task-properties.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';
import { type Data, data, list, long, oneOf, stepsOf, type Value, val, valueAt } from './vim-values.ts';

/** Opens the lease of a machine that was just made, or one that says why there is none. */
export function openLease(
  state: VCenterServerState,
  session: string,
  made: { readonly machine: Machine } | { readonly error: Refusal },
): LeaseRecord {
  const { world } = state;
  const ref = { type: 'HttpNfcLease', value: `session[${session}]${newRef(world.state, 'Lease').value}` };
  const machine = 'machine' in made ? made.machine : undefined;
  const lease: LeaseRecord = {
    ...{ ref, session, machine: machine?.ref, progress: 0, state: 'machine' in made ? 'ready' : 'error' },
    ...('error' in made ? { error: made.error } : {}),
    targets: (machine?.disks ?? []).map(({ file }, index) => ({
      name: file.slice(file.lastIndexOf('/') + 1),
      key: `/${machine?.ref.value ?? ''}/VirtualDisk:${index}`,
      importKey: `/${escapeName(machine?.name ?? '')}/VirtualDisk:${index}`,
    })),
  };
  state.leases.set(ref.value, lease);
  world.index.put({
    ...{ type: ref.type, moid: ref.value, places: new Set([`=${refKey(ref)}`]) },
    read: (path) => {
      const steps = stepsOf(path);
      const value = valueAt(leaseProperty(state, lease, steps[0]?.field ?? ''), steps);
      return value === undefined ? undefined : val(value);
    },
  });
  keepLease(state, lease);
  return lease;
}

/** The lease goes on for as long as it may without a word. */
export function keepLease(state: VCenterServerState, lease: LeaseRecord): void {
  clearTimeout(lease.timer);
  if (lease.state !== 'ready') return;
  lease.timer = setTimeout(() => expireLease(state, lease), state.world.leaseTimeout * 1000);
  lease.timer.unref();
}

/** The lease ends: nobody kept it alive, or its session ended. Its machine goes. */
export function expireLease(state: VCenterServerState, lease: LeaseRecord): void {
  if (lease.state !== 'ready') return;
  lease.state = 'error';
  lease.error = refusal('Timedout', {}, 'The lease was not kept alive.');
  state.world.touch(refKey(lease.ref), 'state', 'error');
  removeHalfMade(state, lease);
}

/** Takes the lease's machine away, unless that is not how this server is. */
export function removeHalfMade({ world }: VCenterServerState, { machine }: LeaseRecord): void {
  const half = machine === undefined ? undefined : world.state.machines.get(refKey(machine));
  if (half !== undefined) world.remove(half);
}

/** Ends a lease: it is unknown from then on. */
export function closeLease(state: VCenterServerState, lease: LeaseRecord): void {
  clearTimeout(lease.timer);
  state.leases.delete(lease.ref.value);
  const object = state.world.index.object(lease.ref);
  if (object !== undefined) state.world.index.remove(object);
}

/** A property of a lease. */
export function leaseProperty(state: VCenterServerState, lease: LeaseRecord, name: string): Value | undefined {
  if (name === 'state') return oneOf('HttpNfcLeaseState', lease.state);
  if (name === 'transferProgress' || name === 'initializeProgress')
    return name === 'transferProgress' ? lease.progress : 100;
  if (name === 'error') return lease.error === undefined ? undefined : faultData(lease.error);
  if (name === 'info' && lease.machine !== undefined) return leaseInfo(state, lease, lease.machine);
  return undefined;
}

function leaseInfo({ world }: VCenterServerState, { ref, targets }: LeaseRecord, entity: MoRef): Data {
  const machine = world.state.machines.get(refKey(entity));
  return data('HttpNfcLeaseInfo', {
    ...{ lease: ref, entity },
    deviceUrl: list(
      'HttpNfcLeaseDeviceUrl',
      targets.map(({ name, key, importKey }) => {
        const url = `${world.origin}/nfc/${encodeURIComponent(ref.value)}/${encodeURIComponent(name)}`;
        const said = { key, importKey, url, sslThumbprint: '', disk: true, targetId: name };
        return data('HttpNfcLeaseDeviceUrl', { ...said, fileSize: long(0) });
      }),
    ),
    totalDiskCapacityInKB: long((machine?.disks ?? []).reduce((sum, { capacityKB = 0 }) => sum + capacityKB, 0)),
    leaseTimeout: world.leaseTimeout,
  });
}

/** HttpNfcLeaseGetManifest: what arrived, as this server says it. */
export function leaseManifest({ world }: VCenterServerState, { targets }: LeaseRecord): readonly Data[] {
  const { uploadManifest } = world.behaviour;
  if (uploadManifest === 'empty') return [];
  return targets.flatMap(({ key, received }) => {
    if (received === undefined) return [];
    // The API describes the manifest for downloads, whose files have another size.
    const size = uploadManifest === 'downloads' ? Number(`1${received.size}`) : received.size;
    return [data('HttpNfcLeaseManifestEntry', { key, sha1: received.sha1, size: long(size), disk: true })];
  });
}

/** What an upload is for; undefined: there is no such lease or file. */
export function uploadTarget(
  state: VCenterServerState,
  path: string,
): { readonly lease: LeaseRecord; readonly target: LeaseTarget } | undefined {
  const [id = '', name = ''] = path.split('/').slice(-2).map(decodeURIComponent);
  const lease = state.leases.get(id);
  const target = lease?.targets.find((one) => one.name === name);
  return lease === undefined || target === undefined ? undefined : { lease, target };
}

/** Takes an upload in: only its digest is kept. */
export class UploadReceiver {
  readonly #target: LeaseTarget;
  readonly #sha1: Hash = createHash('sha1');
  #size = 0;

  constructor(target: LeaseTarget) {
    this.#target = target;
  }

  take(chunk: Uint8Array): void {
    this.#sha1.update(chunk);
    this.#size += chunk.length;
  }

  /** What had arrived when the connection broke counts too: only the manifest tells. */
  end(): void {
    this.#target.received = { sha1: this.#sha1.digest('hex'), size: this.#size };
  }
}
