import type { MoRef, VCenterConnection } from '@drydock/vsphere';
import { exitCode } from '../exit.ts';
import { TemplateProblem } from '../template/problem.ts';

/** A container as it was asked for. */
export interface WatchedContainer {
  readonly ref: MoRef;
  /** For a person. */
  readonly text: string;
}

/** What machines can be below of. */
const CONTAINERS: ReadonlySet<string> = new Set([
  'Folder',
  'Datacenter',
  'ComputeResource',
  'ClusterComputeResource',
  'HostSystem',
  'ResourcePool',
  'VirtualApp',
]);

/** How a real vCenter names its objects. */
const PREFIXES: readonly (readonly [prefix: RegExp, type: string])[] = [
  [/^group-[a-z]?\d+$/, 'Folder'],
  [/^datacenter-\d+$/, 'Datacenter'],
  [/^domain-c\d+$/, 'ClusterComputeResource'],
  [/^domain-s\d+$/, 'ComputeResource'],
  [/^host-\d+$/, 'HostSystem'],
  [/^resgroup-v\d+$/, 'VirtualApp'],
  [/^resgroup-\d+$/, 'ResourcePool'],
  // To be told that it is none, rather than that there is no such path.
  [/^vm-\d+$/, 'VirtualMachine'],
];

const LIST = 'govc find / -type f -type p -type c -type h -type d';

/** Finds containers by inventory path or by managed object reference (`group-v3`, `Folder:group-v3`). Without any: all datacenters. */
export async function findContainers(
  vcenter: VCenterConnection,
  wanted: readonly string[],
  options: { readonly signal: AbortSignal },
): Promise<readonly WatchedContainer[]> {
  if (wanted.length === 0) {
    const places = await vcenter.places(options);
    return places.filter(({ kind }) => kind === 'datacenter').map(({ ref, path }) => ({ ref, text: path }));
  }
  const found: WatchedContainer[] = [];
  for (const text of wanted) {
    // A variable of a script that is not set must not mean the whole inventory.
    if (text.trim() === '')
      throw new TemplateProblem({ code: 'CONTAINER_INVALID', message: '--container is empty', next: LIST });
    const ref = await find(vcenter, text, options);
    if (ref === undefined) {
      throw new TemplateProblem({
        code: 'CONTAINER_NOT_FOUND',
        exit: exitCode.blocked,
        message: `there is no ${text} in ${vcenter.server}, or this user cannot see it`,
        next: LIST,
      });
    }
    if (!CONTAINERS.has(ref.type)) {
      throw new TemplateProblem({
        code: 'CONTAINER_INVALID',
        message: `${text} is a ${ref.type}, which has no machines below it; a folder, cluster, host, resource pool or datacenter is needed`,
        next: LIST,
      });
    }
    found.push({ ref, text });
  }
  return found;
}

async function find(
  vcenter: VCenterConnection,
  text: string,
  options: { readonly signal: AbortSignal },
): Promise<MoRef | undefined> {
  const [, type, value] = /^([A-Z][A-Za-z]+):(.+)$/.exec(text) ?? [];
  const guessed = PREFIXES.find(([prefix]) => prefix.test(text))?.[1];
  const ref =
    type !== undefined && value !== undefined
      ? { type, value }
      : guessed === undefined
        ? undefined
        : { type: guessed, value: text };
  if (ref === undefined || !CONTAINERS.has(ref.type))
    return ref ?? vcenter.findByPath(text.startsWith('/') ? text : `/${text}`, options);
  const [there] = await vcenter.updates.existing([ref], options);
  return there;
}
