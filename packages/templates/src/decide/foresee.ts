import type { Act, Machine, Observed, Wanted } from './machine.ts';

/** What a prediction must invent. */
export interface Foresight {
  readonly release: string;
  readonly holder: string;
}

/** The folder after a step that goes well. Pure: planning runs the same decisions on it as acting does on the real one. */
export function foresee(observed: Observed, step: Act, wanted: Wanted, given: Foresight): Observed {
  const change = (value: string, update: (machine: Machine) => Machine): Observed => ({
    ...observed,
    machines: observed.machines.map((machine) => (machine.ref.value === value ? update(machine) : machine)),
  });
  switch (step.kind) {
    case 'import':
      return { ...observed, machines: [...observed.machines, imported(step, wanted, given)] };
    case 'finish':
      return change(step.ref.value, (machine) => ({
        ...machine,
        ...{ uploaded: false, verified: true, renew: false },
      }));
    case 'markAsTemplate':
      return change(step.ref.value, (machine) => ({ ...machine, isTemplate: true, past: 'template' }));
    case 'record':
      return change(step.ref.value, (machine) => ({ ...machine, renew: false }));
    case 'attachTags':
      return change(step.ref.value, (machine) => ({ ...machine, tags: [...machine.tags, ...step.tagIds] }));
    case 'intend': {
      const { publishes, old } = step;
      const staged = change(step.ref.value, (machine) =>
        machine.mark === undefined
          ? machine
          : { ...machine, mark: { ...machine.mark, publishes, role: 'staged', other: old.key } },
      );
      if (!old.claim) return staged;
      const blank = { operation: '', digest: '', release: '', holder: '' };
      const machines = staged.machines.map((machine): Machine => {
        if (machine.ref.value !== old.ref.value) return machine;
        const { version: release = '', instanceUuid } = machine;
        const mark = { ...blank, release, instanceUuid, ...machine.mark, owner: wanted.owner, publishes };
        return { ...machine, mark, proof: 'here', own: true, verified: true, past: 'template' };
      });
      return { ...staged, machines };
    }
    case 'swap': {
      const away = change(step.old.ref.value, (machine) => ({ ...machine, name: step.retired }));
      return foresee(away, { ...step, kind: 'rename', to: step.publishes, reason: '' }, wanted, given);
    }
    case 'rename':
      return change(step.ref.value, (machine) => ({ ...machine, name: step.to }));
    case 'retire':
      return change(step.ref.value, (machine) =>
        machine.mark === undefined
          ? machine
          : { ...machine, mark: { ...machine.mark, role: 'retired', other: step.by } },
      );
    case 'destroy':
      return { ...observed, machines: observed.machines.filter(({ ref }) => ref.value !== step.ref.value) };
  }
}

function imported(
  { attempt }: Extract<Act, { kind: 'import' }>,
  { owner, content, swap }: Wanted,
  { release, holder }: Foresight,
): Machine {
  return {
    ref: { type: 'VirtualMachine', value: `"${attempt.name}"` },
    key: 'new',
    name: attempt.name,
    instanceUuid: 'new',
    isTemplate: false,
    poweredOff: true,
    createdAt: Number.MAX_SAFE_INTEGER,
    unchangedMs: 0,
    busy: false,
    chained: false,
    mark: {
      owner,
      operation: attempt.operation,
      digest: content.kind === 'image' ? content.digest : '',
      release,
      holder,
      instanceUuid: 'new',
      ...(swap === undefined ? {} : { publishes: swap.name }),
    },
    verified: true,
    past: 'never',
    ran: false,
    uploader: 'here',
    uploaded: false,
    beats: true,
    tags: [],
    linked: [],
    born: true,
    proof: 'here',
    renew: false,
    own: true,
    pointers: [],
    holders: [],
    unseen: [],
  };
}
