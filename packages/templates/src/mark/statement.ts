import type { CallOptions, VCenter, VmSummary } from '@drydock/vsphere';
import { isBorn, MARK_ATTRIBUTE, type Mark, type MarkRole, otherRelease, PROOF, type Replaced } from '../mark.ts';
import { writeAttribute } from './attribute.ts';
import { codeOf } from './code.ts';
import type { MarkKeys } from './keys.ts';
import { birthSubject, keptSubject, noteSubject } from './subject.ts';

/** What is said of a template after its birth. */
export interface Said {
  readonly owner: string;
  readonly role: MarkRole;
  readonly at?: string | undefined;
  readonly by?: string | undefined;
  readonly publishes?: string | undefined;
  /** Only kept of what we did not import, and where it is another one than its product version. */
  readonly release?: string | undefined;
  readonly replaces?: Replaced | undefined;
}

/**
 * Writes what is said of a template, and first the code that proves it where we did not import it. Without a key there is none: then others may read it, and
 * nothing is ever destroyed because of it.
 */
export async function writeStatement(
  vcenter: VCenter,
  vm: VmSummary,
  said: Said,
  keys: MarkKeys,
  call: CallOptions,
): Promise<void> {
  const { role, owner, at, by, publishes, replaces } = said;
  const instanceUuid = vm.instanceUuid ?? '';
  const release = otherRelease(said.release, vm);
  const born = isBorn(vm);
  const kept = { owner, instanceUuid, publishes, release };
  const code = born || role === 'staged' ? undefined : codeOf(keys, keptSubject(role, kept));
  if (code !== undefined) await writeAttribute(vcenter, vm, PROOF, code, call);
  const statement = {
    id: instanceUuid,
    ...(born ? {} : { owner }),
    role,
    at,
    by: role === 'staged' ? undefined : by,
    name: publishes,
    release: born ? undefined : release,
    replaces: replaces === undefined ? undefined : `${replaces.ref} ${replaces.instanceUuid}`.trim(),
    code: replaces === undefined ? undefined : codeOf(keys, noteSubject({ owner, instanceUuid }, replaces)),
  };
  await writeAttribute(vcenter, vm, MARK_ATTRIBUTE, statement, call);
}

/** Writes a code of the current key for what another witness proves; false where there is no such key. */
export async function renewProof(
  vcenter: VCenter,
  vm: VmSummary,
  mark: Mark,
  keys: MarkKeys,
  call: CallOptions,
): Promise<boolean> {
  const release = otherRelease(mark.release, vm);
  const kind = mark.role === 'adopted' ? 'adopted' : 'retired';
  const code = codeOf(keys, isBorn(vm) ? birthSubject(mark) : keptSubject(kind, { ...mark, release }));
  if (code === undefined) return false;
  await writeAttribute(vcenter, vm, PROOF, code, call);
  return true;
}
