import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import type { Candidate, Observed, Uploader } from './decide.ts';
import { type Mark, readMark } from './mark.ts';
import type { Attempt } from './names.ts';
import type { HolderIsLive } from './store.ts';

/** What tells who makes an unfinished import. */
export interface Liveness {
  /** Our own identity. */
  readonly holder: string;
  readonly holderIsLive: HolderIsLive;
  /** Instance UUIDs of the imports that this process makes at this moment. */
  readonly running: ReadonlySet<string>;
}

/** What a publication looks for. */
export interface Scope extends Liveness {
  readonly cluster: string;
  readonly digest: string;
  readonly attempts: readonly Attempt[];
}

/** Reads the publication folder into a plain value. */
export async function observe(
  vcenter: VCenter,
  folder: MoRef,
  scope: Scope,
  now: number,
  options: CallOptions,
): Promise<Observed> {
  const children = await vcenter.children(folder, options);
  const operations = new Set(scope.attempts.map(({ operation }) => operation));
  const candidates: Candidate[] = [];
  for (const vm of children) {
    const candidate = candidateOf(vm, folder, scope);
    if (candidate === undefined) continue;
    const { mark } = candidate;
    if (mark.owner !== scope.cluster || mark.digest !== scope.digest || !operations.has(mark.operation)) continue;
    const tags = candidate.verified ? await vcenter.tags.attached(vm.ref, options) : [];
    candidates.push({ ...candidate, tags });
  }
  return { now, names: new Set(children.map(({ name }) => name)), candidates };
}

/** A machine with our valid mark as decisions see it; undefined for every other machine. */
export function candidateOf(vm: VmSummary, folder: MoRef, liveness: Liveness): Candidate | undefined {
  const reading = readMark(vm, folder);
  if (reading.kind !== 'ours') return undefined;
  const createdAt = vm.createDate === undefined ? Number.NaN : Date.parse(vm.createDate);
  return {
    ref: vm.ref,
    name: vm.name,
    isTemplate: vm.isTemplate,
    mark: reading.mark,
    verified: reading.verified,
    ...(Number.isNaN(createdAt) ? {} : { createdAt }),
    busy: vm.activeTasks.length > 0,
    uploader: uploaderOf(reading.mark, liveness),
    tags: [],
  };
}

function uploaderOf(mark: Mark, { holder, holderIsLive, running }: Liveness): Uploader {
  if (running.has(mark.instanceUuid)) return 'here';
  // An identity belongs to one process: ours, and not running, is an import that we gave up.
  if (mark.holder === holder) return 'gone';
  const live = holderIsLive(mark.holder);
  return live === undefined ? 'unknown' : live ? 'live' : 'gone';
}
