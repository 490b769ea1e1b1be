import { oneLine } from '@drydock/api/text';
import type { ClusterPlan, ClusterStep, LeafEdit } from '@drydock/boot-images';
import { table } from '../table.ts';

/** A plan for people: the calls in their order, then what stays as it is. */
export function planText({ release, steps, rest }: ClusterPlan): string {
  const of = release === undefined ? '' : ` for release ${release}`;
  const parts = [
    steps.length === 0
      ? `Nothing to change${of}.\n`
      : `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}${of}:\n${steps.map(stepText).join('')}`,
  ];
  // What stands as it is asked for is of no interest where something is to be done.
  const told = rest.filter(({ step }) => steps.length === 0 || step !== 'none');
  if (told.length > 0) {
    const columns = [
      { header: 'SET', cell: ({ set }: (typeof told)[number]) => set },
      { header: 'STEP', cell: ({ step }: (typeof told)[number]) => step },
      { header: 'CURRENT', cell: ({ current = '' }: (typeof told)[number]) => current },
      {
        header: 'WHY',
        cell: ({ why, nextStep }: (typeof told)[number]) => (nextStep === undefined ? why : `${why}; ${nextStep}`),
      },
    ];
    parts.push(table(columns, told));
  }
  return parts.join('\n');
}

function stepText(step: ClusterStep, at: number): string {
  const [title = '', ...calls] = linesOf(step).map(oneLine);
  return [`${`${at + 1}.`.padStart(4)} ${title}\n`, ...calls.map((call) => `       ${call}\n`)].join('');
}

/** What is done, and with which calls. */
function linesOf(step: ClusterStep): readonly string[] {
  switch (step.kind) {
    case 'image': {
      const { release, name, server, folder, from, sets, steps } = step;
      const title = `image ${release} as ${name} in ${folder} on ${server}, for ${sets.join(', ')}`;
      if (steps.length === 0) return [`${title}: it is there`];
      const download =
        from === undefined || steps.every(({ step: kind }) => kind !== 'import')
          ? []
          : [`download ${from.location} (sha256 ${from.sha256.slice(0, 12)}…) unless it is in the cache`];
      return [title, ...download, ...steps.flatMap(({ calls }) => calls)];
    }
    case 'canary': {
      const { machine, image, policy, sets } = step;
      return [
        `machine ${machine} tries ${image} by bootimagepolicy ${policy}, for ${sets.join(', ')}; it must become a Ready node, and goes again`,
      ];
    }
    case 'stub':
      return [`convert the Ignition stub in secret ${step.secret}, for ${step.sets.join(', ')}`];
    case 'point': {
      const { set, edits, from = 'no known image', to, verified } = step;
      const seen = verified === undefined ? '' : ` (${verified.message})`;
      const title = `${set}: ${from} → ${to}${seen}`;
      return edits.length === 0 ? [`${title}, by the name that it has`] : [title, ...edits.flatMap(editLines)];
    }
  }
}

function editLines({ path, from, to }: LeafEdit): readonly string[] {
  const where = path.join('.');
  const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return [...(from === undefined ? [] : [`${where} - ${shown(from)}`]), `${where} + ${shown(to)}`];
}
