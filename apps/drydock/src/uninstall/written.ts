import { access } from 'node:fs/promises';
import type { BootImage } from '@drydock/api';
import { replaceFileDurable } from '@drydock/durable';
import type { KubeObject, Resource } from '@drydock/kube';
import { UsageError } from '../exit.ts';
import { yamlText } from '../yaml.ts';

/** An object that a person wrote: a policy, a payload, or a BootImage with a pin. */
export interface WrittenObject {
  readonly resource: Resource<KubeObject>;
  readonly object: KubeObject & { readonly spec?: unknown };
}

/** Whether a person pinned the image of a machine set. */
export function isPinned({ spec }: BootImage): boolean {
  return spec?.pin !== undefined;
}

/** The objects as `kubectl apply -f` takes them: without their status, and without what the API server says of them. */
export function exportText(objects: readonly WrittenObject[]): string {
  return objects
    .map(({ resource: { group, version, kind }, object: { metadata, spec } }) => {
      const { namespace, name, labels, annotations = {} } = metadata;
      const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...kept } = annotations;
      const said = {
        ...(namespace === undefined ? {} : { namespace }),
        name,
        ...(labels === undefined ? {} : { labels }),
        ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
      };
      return yamlText({ apiVersion: `${group}/${version}`, kind, metadata: said, spec });
    })
    .join('---\n');
}

/** Fails where the file is there already: what an earlier run exported may be gone from the cluster. */
export async function checkNoExport(file: string): Promise<void> {
  const there = await access(file).then(
    () => true,
    () => false,
  );
  if (there) throw new UsageError(`${file} is there already, and may be the only copy: name another one with --export`);
}

/** Exports objects to new files, durably: each call those that changed since the call before. */
export function exporter(file: string): (objects: readonly WrittenObject[]) => Promise<string | undefined> {
  const exported = new Set<string>();
  let files = 0;
  return async (objects) => {
    const fresh = objects.filter((one) => !exported.has(exportText([one])));
    if (fresh.length === 0) return undefined;
    files += 1;
    const target = files === 1 ? file : file.replace(/(\.\w+)?$/, `.${files}$1`);
    await checkNoExport(target);
    await replaceFileDurable(target, exportText(fresh), { mode: 0o600 });
    for (const one of fresh) exported.add(exportText([one]));
    return target;
  };
}
