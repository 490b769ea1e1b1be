import { createHash } from 'node:crypto';
import { isVimError, VimError } from '../errors.ts';
import type { ImportLease, LeaseFile, MoRef, UploadSource } from '../vcenter.ts';
import type { CallRunner } from './hooks.ts';
import { abortLease, completeLease, leaseOf, manifestOf, receiveFile } from './imports.ts';
import { type InventoryState, keyRef, type MemoryLease } from './inventory.ts';

/** What a lease needs of the client that opened it. */
export interface LeaseHost {
  readonly state: () => InventoryState;
  readonly client: string;
  readonly run: CallRunner;
  readonly dead: () => boolean;
  readonly abortLeavesVm: boolean;
  readonly manifest: 'received' | 'none';
  readonly countUpload: () => void;
  readonly countBytes: (bytes: number) => void;
}

/** The client's half of an import. */
export function memoryLease(host: LeaseHost, opened: MemoryLease): ImportLease {
  const vm: MoRef = keyRef(opened.vm);
  const lease = (op: string): MemoryLease => leaseOf(host.state(), opened.id, host.client, op);
  let over = false;

  const abort = async (reason: string): Promise<void> => {
    if (over) return;
    over = true;
    try {
      await host.run('lease.abort', [vm, reason], () =>
        abortLease(host.state(), lease('HttpNfcLeaseAbort'), host.abortLeavesVm),
      );
    } catch (error) {
      const fault = isVimError(error) ? error.fault?.name : undefined;
      // Somebody else ended it: that is what was asked for.
      if (fault !== 'ManagedObjectNotFound' && fault !== 'InvalidState') throw error;
    }
  };

  const receive = async (file: LeaseFile, source: UploadSource, onProgress?: (bytes: number) => void) => {
    const sha1 = createHash('sha1');
    const sha256 = createHash('sha256');
    let size = 0;
    let halved = false;
    const digests = () => ({ size, sha1: sha1.copy().digest('hex'), sha256: sha256.copy().digest('hex') });
    for await (const piece of source.open()) {
      const chunk = Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
      size += chunk.length;
      sha1.update(chunk);
      sha256.update(chunk);
      host.countBytes(chunk.length);
      onProgress?.(size);
      if (!halved && size * 2 >= source.size) {
        halved = true;
        // What had arrived when the connection broke stays there, and Complete would accept it.
        await host.run('lease.upload.half', [vm, file], () => {
          const at = lease('POST nfc').files.find((candidate) => candidate.key === file.key);
          if (at !== undefined) at.received = digests();
        });
      }
    }
    if (size !== source.size) {
      throw new VimError({
        kind: 'protocol',
        code: 'VIM_UPLOAD_FAILED',
        op: 'POST nfc',
        message: `${file.path}: the source gave ${size} bytes where ${source.size} were announced`,
      });
    }
    const received = digests();
    receiveFile(host.state(), lease('POST nfc'), file.key, received);
    return received;
  };

  return {
    vm,
    files: opened.files.map((file) => ({
      key: file.key,
      path: file.path,
      ...(file.declared === undefined ? {} : { size: file.declared }),
      create: file.create,
    })),
    upload: (file, source, options) =>
      host.run('lease.upload', [vm, file], () => {
        options?.signal?.throwIfAborted();
        lease('POST nfc');
        host.countUpload();
        return receive(file, source, options?.onProgress);
      }),
    manifest: () =>
      host.run('lease.manifest', [vm], () => {
        const received = manifestOf(lease('HttpNfcLeaseGetManifest'));
        return host.manifest === 'none' ? [] : received;
      }),
    complete: async () => {
      await host.run('lease.complete', [vm], () => completeLease(host.state(), lease('HttpNfcLeaseComplete')));
      over = true;
    },
    abort,
    [Symbol.asyncDispose]: async () => {
      if (!host.dead()) await abort('the import was given up');
    },
  };
}
