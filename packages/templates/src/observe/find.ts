import { type CallOptions, type MoRef, unescapeName, type VCenter, type VmSummary } from '@drydock/vsphere';
import { reasonOf, TemplateError } from '../errors.ts';
import { failure, readFailure } from '../failure.ts';
import { cleanInventoryPath } from '../paths.ts';
import type { Placement } from '../wish.ts';
import { datacenterPath, folderPath } from './place.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * What a reference stands for directly in the placement's folder: a literal name, an instance UUID, or an inventory path whose folder is this folder
 * (absolute, or below the datacenter's `vm`; `%`, `/` and `\` inside a name escaped). Never searched elsewhere: what lies elsewhere is absent. A failed
 * look-up whose successor fails, too, is reported with both.
 */
export async function findTemplate(
  vcenter: VCenter,
  placement: Placement,
  folder: MoRef,
  reference: string,
  call: CallOptions,
): Promise<VmSummary | undefined> {
  const failures: unknown[] = [];
  for (const { name, find } of looks(vcenter, placement, folder, reference, call)) {
    try {
      const ref = await find();
      const vm = ref?.type === 'VirtualMachine' ? await vcenter.vm(ref, call) : undefined;
      // A server may find a name that only looks alike, escaped or not.
      if (vm?.parent?.value === folder.value && (name === undefined || vm.name === name)) return vm;
    } catch (error) {
      call.signal?.throwIfAborted();
      failures.push(error);
    }
  }
  const [first, ...others] = failures;
  if (first === undefined) return undefined;
  if (others.length === 0) throw readFailure('look up the template', reference, first);
  const both = new AggregateError(failures, failures.map(reasonOf).join('; '));
  throw failure('VCENTER_FAILED', 'look up the template', reference, both);
}

/** A way to find it; `name`: what it must be named then. */
interface Look {
  readonly name?: string;
  readonly find: () => Promise<MoRef | undefined>;
}

function* looks(
  vcenter: VCenter,
  placement: Placement,
  folder: MoRef,
  reference: string,
  call: CallOptions,
): Generator<Look> {
  if (reference === '') return;
  if (UUID.test(reference)) yield { find: () => vcenter.findByInstanceUuid(reference.toLowerCase(), call) };
  // A name may contain slashes, also in front.
  yield { name: reference, find: () => vcenter.findChild(folder, reference, call) };
  const slash = reference.lastIndexOf('/');
  if (slash < 0) return;
  const parent = reference.slice(0, slash);
  const below = reference.startsWith('/') ? [parent] : [`${datacenterPath(placement)}/vm/${parent}`, `/${parent}`];
  const ours = cleanInventoryPath(folderPath(placement));
  if (!below.some((path) => cleanInventoryPath(path) === ours)) return;
  const name = unescapeName(reference.slice(slash + 1));
  if (name !== '') yield { name, find: () => vcenter.findChild(folder, name, call) };
}

/** As {@link findTemplate}, but what is not there is an error. */
export async function requireTemplate(
  vcenter: VCenter,
  placement: Placement,
  folder: MoRef,
  reference: string,
  call: CallOptions,
): Promise<VmSummary> {
  const vm = await findTemplate(vcenter, placement, folder, reference, call);
  if (vm !== undefined) return vm;
  const message = `there is no ${reference} in ${folderPath(placement)} on ${vcenter.server}`;
  throw new TemplateError({ code: 'TEMPLATE_NOT_FOUND', message });
}
