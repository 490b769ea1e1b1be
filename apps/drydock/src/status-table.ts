import { BootImage } from '@drydock/api';
import type { StatusNotes } from './status-notes.ts';
import { age, type Column, table, terminalWidth } from './table.ts';

/** What the table of `drydock status` shows beside the machine sets. */
export interface StatusTable {
  readonly now: number;
  readonly notes?: StatusNotes | undefined;
  readonly wide: boolean;
  readonly headers: boolean;
  /** With a column for namespaces. */
  readonly namespaces?: boolean;
  /** The columns do not depend on the rows: for lines that are printed one after the other. */
  readonly steady?: boolean;
}

/** The table of `drydock status`. It fits 100 columns with usual names, because it names a machine set and an image version once; `-o wide` has a column for everything. */
export function statusTable(images: readonly BootImage[], options: StatusTable): string {
  const { wide, headers } = options;
  const columns = wide ? wideColumns(options) : shortColumns(images, options);
  return table(columns, images, { headers, width: terminalWidth() });
}

type StatusColumn = Column<BootImage>;

function shortColumns(
  images: readonly BootImage[],
  { now, notes, namespaces, steady }: StatusTable,
): readonly StatusColumn[] {
  const platforms = new Set(images.map(({ status }) => status?.platform));
  return [
    ...(namespaces === true ? [NAMESPACE] : []),
    SET,
    ...(steady === true || platforms.size < 2 ? [] : [PLATFORM]),
    CURRENT,
    PHASE,
    sinceColumn(now),
    ...writesColumns(notes, now),
    { header: 'PROGRESS', cell: progressCell },
  ];
}

function wideColumns({ now, notes, namespaces }: StatusTable): readonly StatusColumn[] {
  return [
    ...(namespaces === true ? [NAMESPACE] : []),
    { header: 'NAME', cell: ({ metadata }) => metadata.name },
    ...[PLATFORM, SET, CURRENT],
    { header: 'TARGET', cell: ({ status }) => status?.target ?? '' },
    PHASE,
    { header: 'PROGRESS', cell: ({ status }) => status?.progress ?? '' },
    sinceColumn(now),
    { header: 'REVERT-TO', cell: ({ status }) => status?.revertTo ?? '' },
    ...writesColumns(notes, now),
    { header: 'TEMPLATE', cell: ({ status }) => status?.template?.name ?? '' },
    { header: 'MESSAGE', cell: ({ status }) => status?.message ?? '' },
    { header: 'NEXT', cell: ({ status }) => status?.nextStep ?? '' },
  ];
}

const NAMESPACE: StatusColumn = { header: 'NAMESPACE', cell: ({ metadata }) => metadata.namespace ?? '' };
const PLATFORM: StatusColumn = { header: 'PLATFORM', cell: ({ status }) => status?.platform ?? '' };
const SET: StatusColumn = { header: 'SET', cell: ({ metadata, status }) => status?.set ?? metadata.name };
const CURRENT: StatusColumn = { header: 'CURRENT', cell: ({ status }) => status?.current ?? '' };
const PHASE: StatusColumn = { header: 'PHASE', cell: ({ status }) => status?.phase ?? '' };

function sinceColumn(now: number): StatusColumn {
  return { header: 'SINCE', cell: ({ status }) => age(status?.since, now) };
}

/** What the set is to have, unless it has it, and how far that is; without the phase, which has a column. */
function progressCell({ status = {} }: BootImage): string {
  const { current, target, phase = '', progress = '' } = status;
  const prefix = `${phase.toLowerCase()}: `;
  const said = progress.startsWith(prefix) ? progress.slice(prefix.length) : progress;
  const known = said === '-' ? '' : said;
  if (target === undefined || target === current) return known;
  return known === '' ? `to ${target}` : `to ${target}: ${known}`;
}

const DEFINITION = `${BootImage.plural}.${BootImage.group}`;

/** `degraded 5m`: the row is as old as it says, or lacks something. */
function writesColumns(notes: StatusNotes | undefined, now: number): readonly StatusColumn[] {
  if (notes === undefined) return [];
  const cell = ({ metadata }: BootImage): string => {
    const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
    const note = notes.noted.find(({ definition, object }) => definition === DEFINITION && object === name);
    return note === undefined ? '' : `${note.state} ${age(note.since, now)}`;
  };
  return [{ header: 'STATUS-WRITES', cell }];
}
