import type { MachineSet } from '@drydock/api';
import { nameFault } from '@drydock/api/text';

/** Where a machine set's template is looked for. */
export interface TemplatePlace {
  readonly server: string;
  /** Inventory paths: the folder of the workspace, where Drydock's own templates live too, and that of a reference with a path. */
  readonly folders: readonly string[];
  /** The template's bare name; '' where the set names none. */
  readonly name: string;
}

/** Longest path that a vCenter is asked for. */
const LONGEST_PATH = 2048;

/** Reads `providerSpec.value.workspace` and `template`; undefined where the set is not on vSphere, or names what no vCenter can have: its BootImage says so. */
export function templatePlace(set: MachineSet): TemplatePlace | undefined {
  const value = set.spec?.template?.spec?.providerSpec?.value ?? {};
  const workspace = record(value['workspace']);
  const [server, datacenter, folder, template] = [
    workspace['server'],
    workspace['datacenter'],
    workspace['folder'],
    value['template'],
  ].map((field) => (typeof field === 'string' ? field : ''));
  if (!server || !datacenter) return undefined;
  if ([server, datacenter, folder ?? '', template ?? ''].some((name) => nameFault(name, LONGEST_PATH) !== undefined))
    return undefined;
  const root = `/${datacenter.replace(/^\/+/, '')}/vm`;
  const absolute = (path: string): string => (path.startsWith('/') ? path : path === '' ? root : `${root}/${path}`);
  const reference = template ?? '';
  const slash = reference.lastIndexOf('/');
  const folders = new Set([absolute(folder ?? '')]);
  if (slash > 0) folders.add(absolute(reference.slice(0, slash)));
  return {
    server,
    folders: [...folders].map((path) => path.replace(/(?<=.)\/+$/, '')),
    name: reference.slice(slash + 1),
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
