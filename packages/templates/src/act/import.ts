import { randomUUID } from 'node:crypto';
import {
  type CallOptions,
  type HostSummary,
  type ImportLease,
  type ImportRequest,
  isVimError,
  type MoRef,
  type OvfDescriptor,
  readOvf,
  type SentFile,
  type VCenter,
} from '@drydock/vsphere';
import { clauseOf, TemplateError } from '../errors.ts';
import { fingerprintOf, hasRun } from '../fingerprint.ts';
import { expectSpace, importBytes, noteSpace } from '../image/disk-space.ts';
import type { OpenOva } from '../image/ova.ts';
import { byteMeter } from '../image/progress.ts';
import { checkSums } from '../image/sums.ts';
import { type BirthMark, birthConfig, CONTENT_KEY } from '../mark/birth-mark.ts';
import { type Identity, identityKey, identityOf } from '../mark/identity.ts';
import { writeOwnership } from '../mark/ownership-record.ts';
import { contentOf, testimonyOf } from '../mark.ts';
import type { Attempt } from '../names.ts';
import { noteOf } from '../note.ts';
import { findTemplate } from '../observe/find.ts';
import { resolvePlace } from '../observe/place.ts';
import type { TemplateOperation, TemplateProgress } from '../store.ts';
import type { TemplateWish } from '../wish.ts';
import { heartbeat } from './heartbeat.ts';
import { patiently } from './patience.ts';
import type { Ports } from './ports.ts';

/** Options of {@link importTemplate}. */
export interface ImportOptions {
  readonly folder: MoRef;
  readonly attempt: Attempt;
  readonly onUpload: () => void;
  readonly announce?: ((operation: TemplateOperation) => Promise<void>) | undefined;
  readonly onProgress?: ((progress: TemplateProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How long tidying up after a failed import may take; the caller's signal may have ended. */
const TIDY_MS = 60_000;

/** Faults of one host: another one may do. */
const HOST_FAULTS = [
  'HostNotConnected',
  'HostNotReachable',
  'HostCommunication',
  'InvalidHostState',
  'HostConfigFault',
  // Its networks: not there, or the switch of a port group does not serve it.
  'CannotAccessNetwork',
  'CannotUseNetwork',
  'DestinationSwitchFull',
  'DVPortNotSupported',
  'DvsApplyOperationFault',
  'DvsFault',
  'DvsOperationBulkFault',
] as const;

/** Faults of the name: something bears it, or the folder on the datastore that it would get. */
const NAME_FAULTS = ['DuplicateName', 'FileAlreadyExists'] as const;

/**
 * The one long step: brings an image into the folder as a powered-off machine with our mark, and ends with the reconfigure that calls it verified.
 * Until then nobody takes it for a template; whatever fails leaves nothing behind that this process could still reach.
 */
export async function importTemplate(ports: Ports, wish: TemplateWish, options: ImportOptions): Promise<void> {
  const { vcenter } = ports;
  using _slot = await ports.slots?.take(vcenter.server, options.signal);
  const place = await resolvePlace(vcenter, wish.placement, options);
  const diskProvisioning = await provisioningOf(vcenter, wish, options.folder, options);
  await using ova = await ports.ovas.open(wish.image, {
    onProgress: options.onProgress,
    libraries: vcenter.libraries,
    signal: options.signal,
  });
  const descriptor = readDescriptor(ova);
  const total = checkDescriptor(descriptor, ova);
  const sizeOf = (href: string): number => ova.source(href)?.size ?? 0;
  expectSpace(ports.usedUp, place, wish, importBytes(descriptor, diskProvisioning, sizeOf));

  const instanceUuid = randomUUID();
  const { name, operation } = options.attempt;
  const { cluster: owner, holder } = wish;
  ports.running.add(instanceUuid);
  try {
    await options.announce?.({ id: operation, name, holder, instanceUuid });
    const { release, sha256: digest } = wish.image;
    const publishes = wish.publication?.kind === 'swap' ? wish.publication.name : undefined;
    const mark: BirthMark = {
      owner,
      operation,
      digest,
      release,
      holder,
      instanceUuid,
      ...(descriptor.product?.version ? { version: descriptor.product.version } : {}),
      ...(publishes === undefined ? {} : { publishes }),
    };
    const request: Omit<ImportRequest, 'host'> = {
      descriptor: ova.descriptor,
      name,
      resourcePool: place.resourcePool,
      datastore: place.datastore,
      folder: options.folder,
      networks: new Map([[descriptor.networks[0] ?? '', place.network]]),
      diskProvisioning,
      instanceUuid,
      extraConfig: birthConfig(mark, ports.witnesses.keys),
      annotation: noteOf(wish, name),
    };
    let vm: MoRef | undefined;
    let identity: Identity | undefined;
    try {
      await using lease = await startImport(ports, request, place.hosts, options);
      vm = lease.vm;
      await using living = heartbeat(vcenter, vm, instanceUuid, ports.pacemaker);
      const signal = AbortSignal.any([living.failed, ...(options.signal === undefined ? [] : [options.signal])]);
      identity = await recordBirth(ports, lease.vm, mark, options.attempt.name, { signal });
      await fill(ports, lease, ova, total, { ...options, signal }).catch((error: unknown) => {
        throw living.failed.aborted ? living.failed.reason : error;
      });
    } catch (thrown) {
      // An abort that failed too would hide what went wrong.
      const error: unknown = thrown instanceof SuppressedError ? thrown.suppressed : thrown;
      noteSpace(ports.usedUp, place, wish, importBytes(descriptor, 'thick', sizeOf), error);
      await tidy(ports, options.folder, instanceUuid, identity);
      throw lostLease(options.attempt.name, error);
    }
    await recordUpload(ports, vm, identity, mark, descriptor.secureBoot === true, options);
    await finishImport(ports, vm, options);
  } finally {
    ports.running.delete(instanceUuid);
  }
}

/** Before the first byte: the ledger knows which VM this import makes. */
async function recordBirth(
  { vcenter, witnesses, imported }: Ports,
  ref: MoRef,
  birth: BirthMark,
  name: string,
  call: CallOptions,
): Promise<Identity> {
  const vm = await vcenter.vm(ref, call);
  const identity = vm === undefined ? undefined : identityOf(witnesses.vcenter, vm);
  if (identity?.instanceUuid !== birth.instanceUuid) {
    const message =
      identity === undefined
        ? `vCenter gave ${name} no creation date, without which it cannot be told from a copy`
        : `vCenter gave ${name} another instance UUID than ours`;
    throw new TemplateError({ code: 'IMPORT_FAILED', message, retriable: true });
  }
  const key = identityKey(identity);
  imported.add(key);
  await witnesses.ledger.change(key, () => ({ stage: 'importing', own: true, mark: contentOf(birth) }));
  return identity;
}

/** After the last byte: from here on the upload is never repeated, also where the look at the VM fails. */
async function recordUpload(
  { vcenter, witnesses }: Ports,
  ref: MoRef,
  identity: Identity,
  birth: BirthMark,
  secureBootOff: boolean,
  call: CallOptions,
): Promise<void> {
  const key = identityKey(identity);
  const mark = contentOf(birth);
  const entry = { stage: 'imported', own: true, mark } as const;
  await witnesses.ledger.change(key, () => (secureBootOff ? { ...entry, secureBootOff } : entry));
  const vm = await vcenter.vm(ref, call);
  if (vm === undefined)
    throw new TemplateError({ code: 'IMPORT_FAILED', message: `${ref.value} is gone`, retriable: true });
  if (hasRun(vm) || vm.powerState !== 'poweredOff') throw poweredOn(vm.name, ref);
  const fingerprint = fingerprintOf({ ...vm, secureBoot: !secureBootOff && vm.secureBoot === true });
  await witnesses.ledger.change(key, (now) => now && { ...now, fingerprint });
  await writeOwnership(vcenter, vm, identity, { kind: 'imported', mark, fingerprint }, witnesses.keys, call);
}

/**
 * Finishes an import that was uploaded whole: one change settles secure boot and sets the sign that the import is complete, since a template could not be reconfigured any more (VS-W101). What vCenter
 * makes of it is looked at, because what it consists of now is what it must consist of later. Whatever fails, the upload stays: the next pass continues here.
 */
export async function finishImport({ vcenter, clock, witnesses }: Ports, ref: MoRef, call: CallOptions): Promise<void> {
  const vm = await vcenter.vm(ref, call);
  if (vm === undefined) return;
  const { identity, key, entry, birth, record } = testimonyOf(vm, witnesses);
  if (identity === undefined || entry === undefined || birth === undefined) return;
  // Whether secure boot is to be turned off is noted with the last byte.
  if (entry.stage === 'importing') return;
  if (vm.powerState !== 'poweredOff' || hasRun(vm)) throw poweredOn(vm.name, ref);
  const secureBoot = entry.secureBootOff === true ? { secureBoot: false } : {};
  const settled = fingerprintOf({ ...vm, ...secureBoot });
  const signed = record.kind === 'read' && (record.code === 'current' || witnesses.keys.current === undefined);
  if (!signed) {
    await witnesses.ledger.change(key, (now) => now && { ...now, fingerprint: settled });
    await writeOwnership(
      vcenter,
      vm,
      identity,
      { kind: 'imported', mark: birth, fingerprint: settled },
      witnesses.keys,
      call,
    );
    // Between the first look and the change somebody may have run it.
    const again = await vcenter.vm(ref, call);
    if (again === undefined) return;
    if (again.powerState !== 'poweredOff' || hasRun(again)) throw poweredOn(vm.name, ref);
  }
  const change = { ...secureBoot, extraConfig: new Map([[CONTENT_KEY, settled]]) };
  await patiently(clock, call, () => vcenter.reconfigure(ref, change, call));
  const made = await vcenter.vm(ref, call);
  if (made === undefined || made.unreadable !== undefined || made.isTemplate) return;
  // A server that settles more than it was asked to. What ran already is another one, and stays so.
  const fingerprint = hasRun(made) ? settled : fingerprintOf(made);
  if (fingerprint === (signed ? entry.fingerprint : settled)) return;
  await witnesses.ledger.change(key, (now) => now && { ...now, stage: 'imported', fingerprint });
  await writeOwnership(vcenter, made, identity, { kind: 'imported', mark: birth, fingerprint }, witnesses.keys, call);
}

function poweredOn(name: string, ref: MoRef): TemplateError {
  const message = `${name} (${ref.value}) was powered on before its import was finished: it is kept and not used`;
  return new TemplateError({ code: 'IMPORT_FAILED', message, retriable: true });
}

/** A lease that ended with its session, or that nobody renewed: nothing is wrong but that. */
function lostLease(name: string, error: unknown): unknown {
  const lost =
    isVimError(error, 'VIM_GONE') ||
    isVimError(error, 'VIM_LEASE_FAILED') ||
    isVimError(error, 'VIM_NOT_AUTHENTICATED');
  if (!lost) return error;
  const message = `the import of ${name} ended with the session or lease that it belonged to: ${clauseOf(error)}`;
  return new TemplateError({ code: 'LEASE_LOST', message, retriable: true, cause: error });
}

async function startImport(
  ports: Ports,
  request: Omit<ImportRequest, 'host'>,
  hosts: readonly HostSummary[],
  options: ImportOptions,
): Promise<ImportLease> {
  for (const [index, host] of hosts.entries()) {
    try {
      return await ports.vcenter.startImport({ ...request, host: host.ref }, { signal: options.signal });
    } catch (error) {
      if (isVimError(error) && NAME_FAULTS.some((fault) => error.fault?.has(fault))) {
        const message = `the name ${request.name} is taken, in the folder or on the datastore: ${clauseOf(error)}`;
        throw new TemplateError({ code: 'NAME_TAKEN', message, retriable: true, cause: error });
      }
      const hostAtFault = isVimError(error) && HOST_FAULTS.some((fault) => error.fault?.has(fault));
      if (!hostAtFault || index === hosts.length - 1) throw error;
      await tidy(ports, request.folder, request.instanceUuid, undefined);
    }
  }
  throw new TemplateError({
    code: 'HOSTS_UNAVAILABLE',
    message: 'failed to find available host system: all hosts unavailable',
    retriable: true,
  });
}

/** Uploads every file, checks every sum, completes. */
async function fill(
  ports: Ports,
  lease: ImportLease,
  ova: OpenOva,
  total: number,
  options: ImportOptions,
): Promise<void> {
  options.onUpload();
  const meter = byteMeter('Uploading', total, ports.clock, options.onProgress);
  const sent: SentFile[] = [];
  let before = 0;
  for (const file of lease.files) {
    const source = ova.source(file.path);
    if (source === undefined)
      throw new TemplateError({ code: 'OVA_INVALID', message: `the file is no OVA: it lacks ${file.path}` });
    const base = before;
    const digests = await lease.upload(file, source, {
      signal: options.signal,
      onProgress: (bytes) => meter(base + bytes),
    });
    sent.push({ file, ...digests });
    before += source.size;
  }
  options.onProgress?.({ step: 'Publishing' });
  checkSums(sent, ova.manifest, await lease.manifest(options));
  await lease.complete(options);
}

/** What the import needs to be possible at all; returns the bytes of all files. */
function readDescriptor(ova: OpenOva): OvfDescriptor {
  try {
    return readOvf(ova.descriptor);
  } catch (cause) {
    const message = isVimError(cause) ? cause.message : 'the OVF descriptor cannot be read';
    throw new TemplateError({ code: 'OVA_INVALID', message, cause });
  }
}

function checkDescriptor(descriptor: OvfDescriptor, ova: OpenOva): number {
  if (descriptor.networks.length !== 1) {
    const message = `expected the OVA to only have a single network adapter, but it has ${descriptor.networks.length}`;
    throw new TemplateError({ code: 'OVA_UNSUPPORTED', message });
  }
  let total = 0;
  for (const { href, size } of descriptor.files) {
    const source = ova.source(href);
    if (source === undefined)
      throw new TemplateError({ code: 'OVA_INVALID', message: `the file is no OVA: it lacks ${href}` });
    if (size !== undefined && size !== source.size) {
      const message = `${href} has ${source.size} bytes, but the descriptor says ${size}`;
      throw new TemplateError({ code: 'OVA_INVALID', message });
    }
    total += source.size;
  }
  return total;
}

/**
 * Removes what a failed import left. The lease was aborted on the way here, which vCenter answers by removing the machine; the simulator leaves it, and
 * an answer that got lost leaves either. One that turns out to be verified stays: then only the answer was lost. What cannot be removed now, the next
 * observation removes, so that a failure here never hides the one that led here.
 */
async function tidy(
  { vcenter, witnesses }: Ports,
  folder: MoRef,
  instanceUuid: string,
  identity: Identity | undefined,
): Promise<void> {
  const options = { signal: AbortSignal.timeout(TIDY_MS) };
  const key = identity === undefined ? undefined : identityKey(identity);
  try {
    for (const vm of await vcenter.children(folder, options)) {
      const { birth, entry, record, key: found } = testimonyOf(vm, witnesses);
      const mine = key === undefined ? birth?.instanceUuid === instanceUuid && entry === undefined : found === key;
      const half = !vm.isTemplate && !vm.extraConfig.has(CONTENT_KEY) && record.kind === 'absent';
      if (!mine || !half || vm.powerState !== 'poweredOff' || hasRun(vm)) continue;
      await vcenter.destroy(vm.ref, options);
      await witnesses.ledger.change(found, () => undefined);
    }
  } catch {
    // See above.
  }
}

const PROVISIONING = ['', 'thin', 'thick', 'eagerZeroedThick'] as const;

/** The wish's disk provisioning, else that of the template that is replaced; its last disk decides. */
export async function provisioningOf(
  vcenter: VCenter,
  wish: TemplateWish,
  folder: MoRef,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<ImportRequest['diskProvisioning']> {
  if (wish.diskProvisioning !== undefined) {
    const known = PROVISIONING.find((kind) => kind === wish.diskProvisioning);
    if (known !== undefined) return known;
    throw new TemplateError({
      code: 'OVA_UNSUPPORTED',
      message: `disk provisioning type "${wish.diskProvisioning}" is not supported`,
    });
  }
  const { replaces, placement } = wish;
  const reference = replaces ?? (wish.publication?.kind === 'swap' ? wish.publication.name : '');
  const old = reference === '' ? undefined : await findTemplate(vcenter, placement, folder, reference, call);
  const disk = old?.disks.at(-1);
  if (disk?.thin === undefined) return '';
  if (disk.thin) return 'thin';
  return disk.eagerlyScrub === true ? 'eagerZeroedThick' : 'thick';
}
