import { diff, split } from '@drydock/crd';
import { type ApplyPlan, planPayload } from '../apply/plan.ts';
import { idKey, idText } from '../payload/manifest.ts';
import { isStop } from './accepted.ts';
import { bridgeSpec } from './bridge-definition.ts';
import { type Definition, observeDefinitions } from './definitions.ts';
import { orphansOf, partOf, whyKept } from './orphans.ts';
import { type WayPreflight, wayPreflight } from './preflight.ts';
import { hasOldVersions } from './storage.ts';
import { wayOf } from './way.ts';
import { ROLLBACK_PHASES, type RollbackPhase, type RollbackPorts, type RollbackWish } from './wish.ts';

/** What a way back would do, phase by phase. */
export interface RollbackPlan {
  readonly from: string;
  readonly to: string;
  readonly owner: string;
  readonly preflight: WayPreflight;
  /** Findings that are not accepted: with one nothing is begun. */
  readonly stops: readonly string[];
  readonly phases: readonly { readonly phase: RollbackPhase; readonly steps: readonly RollbackPlanStep[] }[];
  /** What applying the older payload does, with the definitions held at their bridges. */
  readonly applied: ApplyPlan;
}

/** One step. */
export interface RollbackPlanStep {
  readonly action:
    | 'stop'
    | 'accept'
    | 'mark'
    | 'cut'
    | 'copy'
    | 'widen'
    | 'apply'
    | 'wait'
    | 'narrow'
    | 'delete'
    | 'keep'
    | 'migrate'
    | 'record';
  readonly object: string;
  readonly what: string;
}

const TOLD = 3;

/** Looks at everything and writes nothing. Rejects with `ReleaseError` and `ApiError`. */
export async function planRollback(wish: RollbackWish, ports: RollbackPorts): Promise<RollbackPlan> {
  const { client, clock, signal } = ports;
  const way = wayOf(wish, ports);
  const definitions = await observeDefinitions(wish, client, signal);
  const preflight = await wayPreflight(client, wish.to.manifests, { now: clock.date(), signal });
  const moving = definitions.filter(({ state }) => state.kind !== 'fits' && state.kind !== 'absent');
  const held = new Set(moving.map(({ manifest }) => idKey(manifest.id)));
  const applied = await planPayload(
    {
      payload: wish.to.payload,
      manifests: wish.to.manifests,
      mode: 'updating',
      attempt: wish.attempt,
      owner: wish.owner,
    },
    {
      ...{ client, inventory: ports.inventory, signal },
      crds: (step, manifest) =>
        held.has(idKey(manifest.id)) ? { action: 'nothing', why: 'it is held where both releases can write' } : step,
    },
  );
  const steps = new Map<RollbackPhase, RollbackPlanStep[]>(ROLLBACK_PHASES.map((phase) => [phase, []]));
  const add = (phase: RollbackPhase, step: RollbackPlanStep): void => void steps.get(phase)?.push(step);
  for (const one of preflight.findings.filter(({ blocking }) => blocking))
    add('Preflight', {
      action: isStop(wish, one) ? 'stop' : 'accept',
      object: `Rollback/${one.id}`,
      what: one.message,
    });
  for (const one of moving) planDefinition(one, wish, add);
  for (const { definition, path, how, objects } of preflight.healed)
    add('Sanitise', {
      action: how === 'cut' ? 'cut' : 'copy',
      object: `${definition} ${path}`,
      what: `${objects} ${objects === 1 ? 'object' : 'objects'}; what is left out is kept in a ledger`,
    });
  const { counts } = applied;
  const { orphans } = await orphansOf(way);
  for (const orphan of orphans) {
    const why = await whyKept(orphan, way);
    const part = partOf(orphan.id);
    const phase = part === 'rest' ? 'Orphans' : 'Operators';
    const object = idText(orphan.id);
    const what = `only ${wish.from.payload.version} brings it`;
    if (why !== undefined) add('Orphans', { action: 'keep', object, what: why });
    else if (part === 'webhooks') steps.get(phase)?.unshift({ action: 'delete', object, what });
    else add(phase, { action: 'delete', object, what });
  }
  add('Operators', {
    action: 'apply',
    object: `release ${wish.to.payload.version}`,
    what: `${counts.create} to create, ${counts.update} to update, ${counts.delete} to delete`,
  });
  if (moving.length > 0) {
    const what = 'the writers of the older release write, and put nothing back';
    add('Rewrite', { action: 'wait', object: `${moving.length} ${moving.length === 1 ? 'kind' : 'kinds'}`, what });
    add('Scan', { action: 'wait', object: 'every stored object', what: 'it fits the older definitions, strictly' });
  }
  for (const one of definitions)
    if (hasOldVersions(one))
      add('Storage', {
        action: 'migrate',
        object: one.name,
        what: 'its objects are stored anew, and storedVersions trimmed',
      });
  add('Recorded', { action: 'record', object: wish.owner.name, what: `${wish.to.payload.version} is Completed` });
  return {
    ...{ from: wish.from.payload.version, to: wish.to.payload.version, owner: wish.owner.name },
    preflight,
    stops: preflight.findings.filter((one) => one.blocking && isStop(wish, one)).map(({ id }) => `Rollback/${id}`),
    phases: ROLLBACK_PHASES.flatMap((phase) => {
      const of = steps.get(phase) ?? [];
      return of.length === 0 ? [] : [{ phase, steps: of }];
    }),
    applied,
  };
}

function planDefinition(
  { crd, name, state, target }: Definition,
  wish: RollbackWish,
  add: (phase: RollbackPhase, step: RollbackPlanStep) => void,
): void {
  if (state.kind === 'foreign' || state.kind === 'unreadable') {
    add('Preflight', { action: 'stop', object: name, what: state.why });
    return;
  }
  if (state.kind === 'narrows')
    add('Freeze', { action: 'mark', object: name, what: `writers keep within ${wish.to.payload.version} as well` });
  if (crd === undefined || target === undefined) return;
  const { narrowing, widening } = split(diff(crd, target));
  if (state.kind === 'narrows' || state.kind === 'marked') {
    const spec = bridgeSpec(target, crd);
    const what =
      spec.spec === undefined
        ? 'no definition takes both'
        : widening.length === 0
          ? 'takes what both write'
          : told(widening);
    add('Bridge', { action: 'widen', object: name, what });
  }
  add('Contract', { action: 'narrow', object: name, what: told(narrowing) });
}

function told(steps: readonly { readonly path: string; readonly what: string }[]): string {
  const texts = steps.slice(0, TOLD).map(({ path, what }) => (path === '' ? what : `${path}: ${what}`));
  return [...texts, ...(steps.length > TOLD ? [`and ${steps.length - TOLD} more`] : [])].join('; ');
}
