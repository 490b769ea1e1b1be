import type { ApplyOutcome, ApplyPorts, ApplyProgress } from '../apply/wish.ts';
import { ReleaseError } from '../errors.ts';
import { idKey } from '../payload/manifest.ts';
import { isStop } from './accepted.ts';
import { bridgeColumn, bridgeSpec } from './bridge-definition.ts';
import { contract, restoreBridge } from './contract.ts';
import { JUDGED, nextRollbackStep, type RollbackStanding, type RollbackStep } from './decide.ts';
import { changeDefinition, isServed } from './definition-writes.ts';
import {
  bridgedDefinition,
  type Definition,
  markedDefinition,
  observeDefinitions,
  specOf,
  unmarkedDefinition,
} from './definitions.ts';
import { removeOrphans } from './orphans.ts';
import { wayPreflight } from './preflight.ts';
import { sanitiseKind, settleKinds } from './sanitise.ts';
import { hasOldVersions, migrateStorage } from './storage.ts';
import { type Way, wayOf } from './way.ts';
import type {
  KeptDefinition,
  KeptOrphan,
  RollbackOutcome,
  RollbackPhase,
  RollbackPorts,
  RollbackWish,
} from './wish.ts';

/** What one attempt has found out, besides what every look shows. */
interface Findings {
  readonly sanitised: Set<string>;
  readonly kept: Map<string, KeptDefinition>;
  orphans: readonly KeptOrphan[];
  readonly notes: string[];
  applied: ApplyOutcome | undefined;
  progress: ApplyProgress;
  tidied: boolean;
}

/**
 * Goes from one release to another so that nobody is ever refused and nothing is lost: to its end, or to what holds it up. Called again, by whichever process, it goes on from what the cluster is like. With the
 * ends exchanged it breaks a way off. Rejects with `ReleaseError` before anything is changed where somebody must decide first, with `ApiError`, and with the signal's reason.
 */
export async function rollBack(wish: RollbackWish, ports: RollbackPorts): Promise<RollbackOutcome> {
  const way = wayOf(wish, ports);
  const found: Findings = {
    ...{ sanitised: new Set(), kept: new Map(), orphans: [], notes: [], applied: undefined, tidied: false },
    progress: {
      done: way.memory.applied === wish.to.payload.hash ? wish.to.manifests.length : 0,
      ...{ total: wish.to.manifests.length, waiting: [] },
    },
  };
  for (;;) {
    ports.signal.throwIfAborted();
    const standing = await observe(way, found);
    const step = nextRollbackStep(standing);
    way.say(step.phase);
    if (step.kind === 'done') return outcomeOf(found, 'Recorded', found.kept.size === 0);
    await act(step, way, found);
    if (found.applied !== undefined && !found.applied.complete) return outcomeOf(found, 'Operators', false);
  }
}

/** Looks at everything that the next step is decided by. Rejects with `ApiError`. */
export async function observeRollback(wish: RollbackWish, ports: RollbackPorts): Promise<RollbackStanding> {
  const way = wayOf(wish, ports);
  return {
    definitions: await observeDefinitions(wish, ports.client, ports.signal),
    ...{ sanitised: new Set(), kept: new Set(), tidied: false },
    applied: way.memory.applied === wish.to.payload.hash,
  };
}

async function observe(way: Way, found: Findings): Promise<RollbackStanding> {
  const { wish, ports, memory } = way;
  return {
    definitions: await observeDefinitions(wish, ports.client, ports.signal),
    sanitised: found.sanitised,
    applied: memory.applied === wish.to.payload.hash,
    kept: new Set(found.kept.keys()),
    tidied: found.tidied,
  };
}

function outcomeOf(found: Findings, phase: RollbackPhase, complete: boolean): RollbackOutcome {
  return {
    ...{ complete, phase, kept: [...found.kept.values()], orphans: found.orphans, notes: found.notes },
    errors: found.applied?.errors ?? [],
    progress: found.applied?.progress ?? found.progress,
    deletions: found.applied?.deletions ?? [],
  };
}

/** One step. Each is seen wholly or not at all by the look after it, and does nothing where it is done. */
async function act(step: Exclude<RollbackStep, { readonly kind: 'done' }>, way: Way, found: Findings): Promise<void> {
  switch (step.kind) {
    case 'refuse':
      throw refusal(step.definition);
    case 'preflight':
      for (const { crd, state } of step.definitions)
        if (crd !== undefined && state.kind === 'narrows') await way.ports.kept.of(crd).check();
      await judge(way);
      found.sanitised.add(JUDGED);
      return;
    case 'freeze':
      for (const one of step.definitions) await freeze(one, way);
      return;
    case 'sanitise':
      for (const one of step.definitions) {
        way.say('Sanitise', one.name);
        await sanitiseKind(one, way);
        found.sanitised.add(one.name);
      }
      return;
    case 'bridge':
      for (const one of step.definitions) await putBridge(one, way);
      return;
    case 'operators':
      found.applied = await bringOperatorsBack(way, found);
      return;
    case 'restore':
      for (const one of step.definitions) await restoreBridge(one, way);
      return;
    case 'contract':
      await contractAll(step.definitions, way, found);
      return;
    case 'unmark':
      for (const one of step.definitions)
        await changeDefinition(one, way, ({ live, state }) =>
          live !== undefined && state.kind === 'fits' && state.marked ? unmarkedDefinition(live) : undefined,
        );
      return;
    case 'tidy':
      await tidy(way, found);
  }
}

function refusal({ name, state }: Definition): ReleaseError {
  switch (state.kind) {
    case 'unbridgeable': {
      const [first] = state.unbridged;
      const more = state.unbridged.length > 1 ? `, and ${state.unbridged.length - 1} more` : '';
      const where = first === undefined || first.path === '' ? '' : ` at ${first.path}`;
      return new ReleaseError(
        'NO_BRIDGE',
        `no definition takes what both releases write of ${name}${where}: ${first?.why ?? 'they have nothing in common'}${more}`,
      );
    }
    case 'foreign':
      return new ReleaseError('BAD_MARKER', `${name} is held by somebody else: ${state.why}`);
    default:
      return new ReleaseError('NO_BRIDGE', `${name} cannot be read: ${'why' in state ? state.why : state.kind}`);
  }
}

/** Judges what is stored, at this moment: an older judgement may have become untrue. */
async function judge({ wish, ports }: Way): Promise<void> {
  const { client, clock, signal } = ports;
  const { findings } = await wayPreflight(client, wish.to.manifests, { now: clock.date(), signal });
  const stops = findings.filter((one) => one.blocking && isStop(wish, one));
  if (stops.length === 0) return;
  const told = stops.slice(0, 3).map(({ id, message }) => `Rollback/${id} (${message})`);
  throw new ReleaseError(
    'NOT_ACCEPTED',
    `${stops.length} ${stops.length === 1 ? 'finding stands' : 'findings stand'} against going to ${wish.to.payload.version}: ${told.join(' ')}`,
  );
}

async function freeze(definition: Definition, way: Way): Promise<void> {
  const { crd, target } = definition;
  // What nobody can read is not written beside.
  if (crd !== undefined) await way.ports.kept.of(crd).check();
  if (target === undefined) return;
  await changeDefinition(definition, way, ({ live, state }) =>
    live !== undefined && state.kind === 'narrows' ? markedDefinition(live, target, way.wish) : undefined,
  );
}

async function putBridge(definition: Definition, way: Way): Promise<void> {
  way.say('Bridge', definition.name);
  const put = await changeDefinition(definition, way, ({ crd, live, state, target }) => {
    if (live === undefined || crd === undefined || target === undefined || state.kind !== 'marked') return undefined;
    const { spec } = bridgeSpec(target, crd);
    return spec === undefined ? undefined : bridgedDefinition(live, spec);
  });
  const column = put.live === undefined ? undefined : bridgeColumn(specOf(put.live));
  if (column !== undefined && !(await isServed(put, column, way)))
    throw new Error(`${definition.name} is a bridge, and not every API server has begun to serve it`);
}

async function bringOperatorsBack(way: Way, found: Findings): Promise<ApplyOutcome> {
  const { wish, ports, memory } = way;
  // What asks an operator goes before the operator does.
  await removeOrphans('webhooks', way);
  const standing = await observeDefinitions(wish, ports.client, ports.signal);
  const held = new Set(
    standing.flatMap(({ manifest, state }) =>
      state.kind === 'fits' || state.kind === 'absent' ? [] : [idKey(manifest.id)],
    ),
  );
  const apply: ApplyPorts = {
    ...{ client: ports.client, inventory: ports.inventory, clock: ports.clock, signal: ports.signal },
    ...(ports.live === undefined ? {} : { live: ports.live }),
    ...(ports.applyMemory === undefined ? {} : { memory: ports.applyMemory }),
    crds: (step, manifest) =>
      held.has(idKey(manifest.id)) ? { action: 'nothing', why: 'it is held where both releases can write' } : step,
    onProgress: (progress) => {
      found.progress = progress;
      ports.onProgress({ phase: 'Operators', what: '', applied: progress });
    },
  };
  const outcome = await ports.apply(
    {
      ...{ payload: wish.to.payload, manifests: wish.to.manifests, owner: wish.owner },
      ...{ mode: 'updating', attempt: wish.attempt },
    },
    apply,
  );
  if (!outcome.complete) return outcome;
  // Nobody of the other release writes any more.
  await removeOrphans('workloads', way);
  memory.applied = wish.to.payload.hash;
  return outcome;
}

async function contractAll(definitions: readonly Definition[], way: Way, found: Findings): Promise<void> {
  way.say('Rewrite');
  // Whoever put something back in another attempt may have been mended since.
  way.memory.cuts.clear();
  const reports = await settleKinds(definitions, way);
  way.say('Scan');
  for (const definition of definitions) {
    const { name } = definition;
    const { blocks = [] } = reports.get(name) ?? {};
    way.say('Contract', name);
    const kept =
      blocks.length > 0
        ? { definition: name, why: 'objects do not fit it', objects: blocks }
        : await contract(definition, way);
    if (kept !== undefined) found.kept.set(name, kept);
  }
}

async function tidy(way: Way, found: Findings): Promise<void> {
  found.orphans = [...(await removeOrphans('webhooks', way)), ...(await removeOrphans('workloads', way))];
  found.orphans = [...found.orphans, ...(await removeOrphans('rest', way))];
  way.say('Storage');
  for (const one of await observeDefinitions(way.wish, way.ports.client, way.ports.signal)) {
    if (one.state.kind !== 'fits' || !hasOldVersions(one)) continue;
    const note = await migrateStorage(one, way, 'after');
    if (note !== undefined) found.notes.push(note);
  }
  found.tidied = true;
}
