import type { ListedTemplate } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { age, type Column, table } from '../table.ts';
import type { CommonFlags } from './flags.ts';
import { verb } from './run.ts';

/** The role for a person: by pointer, nobody here knows which one is the current. */
export function roleText({
  role,
  stableName,
  registeredAgain,
}: Pick<ListedTemplate, 'role' | 'stableName' | 'registeredAgain'>): string {
  if (registeredAgain === true) return 'registered again';
  return role === 'current' && stableName === undefined ? 'published' : role;
}

const columns = (now: number): readonly Column<ListedTemplate>[] => [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'ROLE', cell: roleText },
  { header: 'RELEASE', cell: ({ release, version }) => release ?? version ?? '' },
  { header: 'AGE', cell: ({ createdAt }) => age(createdAt, now) },
  { header: 'OWNER', cell: ({ owner }) => owner ?? '' },
  { header: 'FOR', cell: ({ stableName }) => stableName ?? '', wide: true },
  { header: 'DIGEST', cell: ({ digest }) => digest?.slice(0, 12) ?? '', wide: true },
  { header: 'INSTANCE-UUID', cell: ({ instanceUuid }) => instanceUuid, wide: true },
  { header: 'MOREF', cell: ({ ref }) => ref.value, wide: true },
  { header: 'NOTE', cell: ({ reason }) => reason ?? '', wide: true },
];

/** The listing as text. Templates of one name stand together, the newest first. */
export function listText(
  templates: readonly ListedTemplate[],
  options: { readonly wide: boolean; readonly now: number },
): string {
  const rows = templates.toSorted(
    (a, b) =>
      (a.stableName ?? a.name).localeCompare(b.stableName ?? b.name) ||
      Date.parse(b.createdAt ?? '') - Date.parse(a.createdAt ?? '') ||
      a.name.localeCompare(b.name),
  );
  return table(columns(options.now), rows, { wide: options.wide });
}

/** Adds `drydock template list`. */
export function addList(group: Command): void {
  const command = group.command('list').description('show the templates of the folder, and what each is to Drydock');
  verb<CommonFlags>(command, async ({ out, signal, open, command: next }) => {
    const { store, placement, owner } = await open('folder');
    const templates = await store.list(placement, owner, { signal });
    for (const template of templates) out.event('template', { ...template, ref: template.ref.value });
    if (templates.length === 0)
      out.note(`No templates in ${placement.folder}.\nnext: ${next('publish', 'OVA', '--name', 'NAME')}`);
    else
      out.list(
        templates.map(({ name }) => name),
        (wide) => listText(templates, { wide, now: Date.now() }),
      );
    return exitCode.done;
  });
}
