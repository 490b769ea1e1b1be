import { faultError, isVimError, VimError } from '../errors.ts';
import { refText } from '../foreign-text.ts';
import { type KeepAlive, keepAlive } from '../session/keep-alive.ts';
import type { Caller } from '../soap/call.ts';
import { readLocalizedFault } from '../soap/faults.ts';
import { nextLook } from '../soap/pace.ts';
import { methodBody } from '../soap/schema.ts';
import { givenUp } from '../soap/signals.ts';
import type { CallOptions, ImportLease, LeaseFile, MoRef } from '../vcenter.ts';
import { child, childText, elements, referenceOf, textOf, type XmlElement } from '../xml/xml.ts';
import { readManifest } from './manifest.ts';
import { type NfcTarget, nfcTarget, uploadFile } from './nfc.ts';

/** One file of an import spec, before the lease gives it an address. */
export interface ImportItem {
  /** Equals the `importKey` of the lease's device URL. */
  readonly deviceId: string;
  /** Member of the OVA. */
  readonly path: string;
  readonly size?: number;
  readonly create: boolean;
}

/** A lease that ImportVApp just gave out. */
export interface OpenedLease {
  readonly lease: MoRef;
  /** Name of the VM, for messages. */
  readonly name: string;
  readonly items: readonly ImportItem[];
}

interface LeaseInfo {
  readonly vm: MoRef;
  readonly timeout: number;
  readonly files: readonly LeaseFile[];
  readonly targets: ReadonlyMap<string, NfcTarget>;
}

const COMPLETE_MS = 30 * 60_000;
const ABORT_MS = 30_000;
/** vCenter creates disks before a lease is ready; on a slow datastore that takes minutes. */
const READY_MS = 15 * 60_000;

/** Waits until the lease is ready and starts its keep-alive. On failure the lease is aborted before the error is thrown. */
export async function openLease(caller: Caller, opened: OpenedLease, options: CallOptions = {}): Promise<ImportLease> {
  let info: LeaseInfo;
  try {
    info = await waitReady(caller, opened, options);
  } catch (error) {
    await abortLease(caller, opened.lease, undefined);
    throw error;
  }
  const total = info.files.reduce((sum, file) => sum + (file.size ?? 0), 0);
  let sent = 0;
  const renewal = keepAlive(caller, opened.lease, info.timeout, () =>
    total === 0 ? 0 : Math.min(99, (sent * 100) / total),
  );
  return leaseOf(caller, opened, info, renewal, (bytes) => {
    sent += bytes;
  });
}

function leaseOf(
  caller: Caller,
  opened: OpenedLease,
  info: LeaseInfo,
  renewal: KeepAlive,
  count: (bytes: number) => void,
): ImportLease {
  const { lease, name } = opened;
  let over = false;
  const abort = async (reason: string): Promise<void> => {
    if (over) return;
    over = true;
    await renewal.stop();
    caller.log.warn({ server: caller.server, vm: name, reason }, 'The import is aborted.');
    await abortLease(caller, lease, info.vm);
  };
  return {
    vm: info.vm,
    files: info.files,
    async upload(file, source, how = {}) {
      const target = info.targets.get(file.key);
      if (target === undefined) throw failed('upload', name, `the lease has no file ${file.path}`);
      const signal = how.signal === undefined ? renewal.failed : AbortSignal.any([renewal.failed, how.signal]);
      let before = 0;
      try {
        return await uploadFile({
          agent: caller.httpsAgentFor(target.hostPort, target.sslThumbprint),
          target,
          file,
          source,
          signal,
          onProgress: (bytes) => {
            count(bytes - before);
            before = bytes;
            how.onProgress?.(bytes);
          },
        });
      } catch (error) {
        count(-before);
        // The lease's own end says more than the upload that it cut.
        throw renewal.failed.aborted ? renewal.failed.reason : error;
      }
    },
    async manifest(how) {
      const answer = await caller.call('HttpNfcLeaseGetManifest', lease, [], { ...how, idempotent: true });
      return readManifest(answer);
    },
    async complete(how) {
      await caller.call('HttpNfcLeaseComplete', lease, [], { ...how, timeoutMs: COMPLETE_MS, lane: 'long' });
      over = true;
      await renewal.stop();
    },
    abort,
    [Symbol.asyncDispose]: () => abort('the import was given up'),
  };
}

async function waitReady(
  caller: Caller,
  { lease, name, items }: OpenedLease,
  options: CallOptions,
): Promise<LeaseInfo> {
  const since = caller.clock.now();
  for (;;) {
    const [found] = await caller.retrieve([lease], 'HttpNfcLease', ['state', 'info', 'error'], options);
    const stated = found?.values.get('state');
    const state = stated === undefined ? undefined : textOf(stated);
    if (found === undefined) throw failed('ImportVApp', name, 'the lease disappeared before it was ready');
    if (state === 'ready') {
      const info = found.values.get('info');
      if (info !== undefined) return readInfo(caller, name, info, items);
    }
    if (state === 'error' || state === 'done') {
      const error = found.values.get('error');
      const fault = error === undefined ? undefined : readLocalizedFault(error);
      throw fault === undefined
        ? failed('ImportVApp', name, `the lease is ${state}`)
        : faultError('ImportVApp', name, fault);
    }
    const age = caller.clock.now() - since;
    if (age > READY_MS) throw failed('ImportVApp', name, 'the lease was not ready within 15 minutes');
    await caller.clock.sleep(nextLook(age), options).catch((error: unknown) => {
      throw options.signal === undefined ? error : givenUp('ImportVApp', options.signal);
    });
  }
}

function readInfo(caller: Caller, name: string, info: XmlElement, items: readonly ImportItem[]): LeaseInfo {
  const vm = referenceOf(child(info, 'entity'));
  if (vm?.type !== 'VirtualMachine') throw failed('ImportVApp', name, 'the lease is for no virtual machine');
  const urls = new Map(elements(info, 'deviceUrl').map((url) => [childText(url, 'importKey'), url]));
  const targets = new Map<string, NfcTarget>();
  const files = items.map((item): LeaseFile => {
    const url = urls.get(item.deviceId);
    const key = childText(url, 'key');
    if (key === undefined) throw failed('ImportVApp', name, `the lease has no address for the file ${item.path}`);
    targets.set(key, nfcTarget(childText(url, 'url') ?? '', caller.baseUrl, childText(url, 'sslThumbprint')));
    return { key, path: item.path, ...(item.size === undefined ? {} : { size: item.size }), create: item.create };
  });
  return { vm, timeout: Number(childText(info, 'leaseTimeout') ?? 0), files, targets };
}

/**
 * HttpNfcLeaseAbort; never throws, because it runs where something else went wrong. A server that accepts the abort and keeps the half-made VM (the simulator does)
 * has it destroyed. Where the abort is refused nothing is destroyed: the lease may have been completed.
 */
async function abortLease(caller: Caller, lease: MoRef, vm: MoRef | undefined): Promise<void> {
  try {
    await caller.call('HttpNfcLeaseAbort', lease, [], { timeoutMs: ABORT_MS, idempotent: true, lane: 'session' });
    if (vm !== undefined) await destroyLeftover(caller, vm);
  } catch (error) {
    const fault = isVimError(error) ? error.fault : undefined;
    // Already over.
    if (fault?.is('ManagedObjectNotFound') === true || fault?.is('InvalidState') === true) return;
    caller.log.warn(
      { server: caller.server, ...(vm === undefined ? {} : { vm: refText(vm) }), err: error },
      'The import could not be cleaned up; it expires by itself.',
    );
  }
}

/** Looks three times within a second, since vCenter removes it in the background. */
async function destroyLeftover(caller: Caller, vm: MoRef): Promise<void> {
  for (const delay of [0, 200, 800]) {
    if (delay > 0) await caller.clock.sleep(delay);
    const found = await caller.retrieve([vm], 'VirtualMachine', ['name']);
    if (found.length === 0) return;
  }
  const task = referenceOf(child(await caller.call('Destroy_Task', vm, methodBody('Destroy_Task', {})), 'returnval'));
  if (task !== undefined) await caller.waitForTask(task, { op: 'Destroy_Task' });
}

function failed(op: string, name: string, why: string): VimError {
  return new VimError({ kind: 'protocol', code: 'VIM_LEASE_FAILED', op, message: `${name}: ${why}`, retriable: true });
}
