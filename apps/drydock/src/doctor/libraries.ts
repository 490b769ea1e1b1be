import type { BootImagePolicy } from '@drydock/api';
import { findLibraryItem, isTemplateError, libraryLocation } from '@drydock/templates';
import type { VCenter } from '@drydock/vsphere';
import { shell } from '../template/next-command.ts';
import { DOWNLOAD_SESSION } from '../template/privileges.ts';
import type { Line } from './finding.ts';

/** The items of content libraries that catalogues of policies name, each once, and whose. */
export function libraryItemsOf(policies: readonly BootImagePolicy[]): ReadonlyMap<string, string> {
  return new Map(
    policies.flatMap(({ metadata, spec }) =>
      (spec?.image?.catalogue ?? []).flatMap(({ contentLibraryItem: item }) =>
        item === undefined ? [] : [[item, metadata.name] as const],
      ),
    ),
  );
}

/** Whether a vCenter has these items and lets the user read them. A global permission is one on every object: `path` is any of them. Nothing is downloaded. */
export async function libraryLines(
  vcenter: VCenter,
  items: ReadonlyMap<string, string>,
  path: string,
  signal: AbortSignal,
): Promise<readonly Line[]> {
  const name = 'content libraries';
  const lines: Line[] = [];
  for (const [item, policy] of items) {
    try {
      const { files } = await findLibraryItem(vcenter.libraries, libraryLocation(item), { signal });
      lines.push({ name, state: 'ok', detail: `${item} is there, with ${files.length} files` });
    } catch (error) {
      if (!isTemplateError(error)) throw error;
      // Sets that the policy decides about may all be in another vCenter.
      const detail = `${error.text}: the sets that bootimagepolicy ${policy} decides about get no image here`;
      lines.push({ name, state: 'warn', detail, next: error.next });
    }
  }
  const ref = items.size === 0 ? undefined : await vcenter.findByPath(path, { signal });
  const missing = ref === undefined ? [] : await vcenter.missingPrivileges(ref, [DOWNLOAD_SESSION], { signal });
  if (missing.length === 0) return lines;
  const { user } = await vcenter.sessions({ signal });
  const detail = `the user ${user} lacks ${DOWNLOAD_SESSION}, which images of content libraries need, by a global permission`;
  return [...lines, { name, state: 'FAIL', detail, next: shell`govc role.update -a ROLE ${DOWNLOAD_SESSION}` }];
}
