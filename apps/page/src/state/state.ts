import { clean, distinct } from './clean.ts';
import type { NoteRow, PageState, ReleaseRow } from './page-state.ts';
import type { PageRelease, PageWorld } from './page-world.ts';
import { scaleAnswer } from './scale-answer.ts';
import { operationRows, setRows, versionRows } from './sets.ts';
import { timelineRows } from './timeline.ts';
import { vcenterRows } from './vcenters.ts';

/** The page of a world. Pure: the same world gives the same page, whoever shows it. */
export function pageState(world: PageWorld): PageState {
  const { leader, now, tree } = world;
  const { answer, share, text, rows: answers, placed, view } = scaleAnswer(world);
  const names = tree.clusters.flatMap(({ name }) => name ?? []);
  const { head, sections, asOf } = clean<PageState>({
    asOf: now.toISOString(),
    head: {
      title: [...new Set(names)].join(', '),
      ...{ answer, share, text },
      leader: { state: leader.state, text: leader.text, nextStep: leader.nextStep ?? '' },
    },
    sections: {
      notes: notesOf(world),
      answers,
      versions: versionRows(placed),
      operations: operationRows(placed),
      sets: setRows(placed, view),
      timeline: timelineRows(world),
      vcenters: vcenterRows(view),
      releases: world.releases.map(releaseRow),
    },
  });
  return {
    ...{ asOf, head },
    sections: {
      notes: distinct(sections.notes),
      answers: distinct(sections.answers),
      versions: distinct(sections.versions),
      operations: distinct(sections.operations),
      sets: distinct(sections.sets),
      timeline: distinct(sections.timeline),
      vcenters: distinct(sections.vcenters),
      releases: distinct(sections.releases),
    },
  };
}

function notesOf({ notes }: PageWorld): readonly NoteRow[] {
  const byText = new Map(notes.map(({ text, nextStep = '' }) => [text, { id: text, text, nextStep }]));
  return [...byText.values()];
}

/** What speaks of a release's health, in the order in which people ask. */
const CONDITIONS = ['Failing', 'Invalid', 'ReleaseAccepted', 'Progressing', 'Upgradeable', 'Rollbackable'];

function releaseRow({ name, version = '', progress = '', conditions, waiting, history }: PageRelease): ReleaseRow {
  const told = CONDITIONS.flatMap((type) => {
    const found = conditions.find((one) => one.type === type);
    if (found === undefined) return [];
    return [{ type, status: found.status, reason: found.reason ?? '', message: found.message ?? '' }];
  });
  return {
    ...{ id: name, name, version, progress, conditions: told },
    waiting: waiting.map(({ object, why = '' }) => (why === '' ? object : `${object}: ${why}`)),
    // The first entry may be the one that is shown as the version.
    history: history
      .slice(history.findIndex((entry) => entry.version === version) + 1)
      .slice(0, 10)
      .map((entry) => ({
        ...{ version: entry.version ?? '', state: entry.state ?? '' },
        ...{ begun: entry.startedTime ?? '', ended: entry.completionTime ?? '' },
      })),
  };
}
