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
      return { ...observed, machines: [...observed.machines, imported(observed, step, wanted, given)] };
    case 'finish':
      return change(step.ref.value, (machine) => ({ ...machine, uploaded: false, verified: true }));
    case 'markAsTemplate':
      return change(step.ref.value, (machine) => ({ ...machine, isTemplate: true, past: 'template', recorded: true }));
    case 'record':
      return change(step.ref.value, (machine) => ({ ...machine, past: 'template', recorded: true }));
    case 'attachTags':
      return change(step.ref.value, (machine) => ({ ...machine, tags: [...machine.tags, ...step.tagIds] }));
    case 'intend':
      return change(step.ref.value, (machine) => ({
        ...machine,
        mark: { ...step.mark, role: 'staged', replaces: step.replaces },
      }));
    case 'swap': {
      const away = change(step.old.ref.value, (machine) => ({ ...machine, name: step.retired }));
      return foresee(away, { ...step, kind: 'rename', to: step.publishes, reason: '' }, wanted, given);
    }
    case 'rename':
      return change(step.ref.value, (machine) => ({ ...machine, name: step.to }));
    case 'retire': {
      const { instanceUuid, publishes, by, release, mark, born } = step;
      const blank = { operation: '', digest: '', holder: '' };
      const retired = {
        ...blank,
        ...mark,
        owner: wanted.owner,
        instanceUuid,
        publishes,
        by,
        release,
        role: 'retired',
      } as const;
      return change(step.ref.value, (machine) => ({
        ...machine,
        mark: retired,
        born,
        verified: true,
        past: 'template',
        recorded: true,
      }));
    }
    case 'destroy':
      return { ...observed, machines: observed.machines.filter(({ ref }) => ref.value !== step.ref.value) };
  }
}

function imported(
  { machines, now }: Observed,
  { attempt }: Extract<Act, { kind: 'import' }>,
  { owner, content, swap }: Wanted,
  { release, holder }: Foresight,
): Machine {
  const instanceUuid = 'new';
  const current = machines.find(({ name }) => name === swap?.name);
  return {
    ref: { type: 'VirtualMachine', value: `"${attempt.name}"` },
    name: attempt.name,
    instanceUuid,
    isTemplate: false,
    poweredOff: true,
    createdAt: now,
    busy: false,
    chained: false,
    mark: {
      owner,
      operation: attempt.operation,
      digest: content.kind === 'image' ? content.digest : '',
      release,
      holder,
      instanceUuid,
      ...(swap === undefined ? {} : { publishes: swap.name }),
      ...(swap === undefined || current === undefined
        ? {}
        : { replaces: { ref: current.ref.value, instanceUuid: current.instanceUuid, name: swap.name } }),
    },
    verified: true,
    past: 'never',
    recorded: false,
    ran: false,
    uploader: 'here',
    uploaded: false,
    beats: true,
    tags: [],
    linked: [],
    born: true,
    proof: 'here',
    renew: false,
    pointers: [],
    unseen: [],
  };
}
