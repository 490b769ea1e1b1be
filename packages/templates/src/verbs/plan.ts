import type { CallOptions, MoRef } from '@drydock/vsphere';
import { provisioningOf } from '../act/import.ts';
import type { Ports } from '../act/ports.ts';
import { decide } from '../decide/decide.ts';
import { type Foresight, foresee } from '../decide/foresee.ts';
import type { Observed, Wanted } from '../decide/machine.ts';
import { worldOf } from '../decide/world.ts';
import { TemplateError } from '../errors.ts';
import { estimatedBytes, expectSpace, importBytes, reserveOf } from '../image/disk-space.ts';
import type { ImportAmounts, Plan, PlannedStep, PlanRequest } from '../library.ts';
import { observe, type Scope } from '../observe/observe.ts';
import { folderPath, resolvePlace, resolveScope } from '../observe/place.ts';
import type { PlanOptions } from '../store.ts';
import type { TemplateWish } from '../wish.ts';
import { prepareAdoption } from './adopt.ts';
import { judge } from './collect.ts';
import { attributeOf, callOn, planned } from './plan-text.ts';
import { checkName, preparePublication } from './publication.ts';
import { prepareRevert } from './revert.ts';

/** More steps than any plan has. */
const MAX_STEPS = 30;

/** What applying a request would do, and to which world; see `TemplateStore.plan`. */
export async function planFor(ports: Ports, request: PlanRequest, options: PlanOptions): Promise<Plan> {
  const { placement } = request.wish;
  if (request.kind === 'publish') checkName(request.wish);
  const scope = await resolveScope(ports.vcenter, placement, options);
  const base = { version: 1, server: placement.server, folder: folderPath(placement) } as const;
  switch (request.kind) {
    case 'publish': {
      const { wish } = request;
      const { wanted, liveness } = await preparePublication(ports, scope, wish, options);
      const observed = await observe(ports.vcenter, scope, wanted, liveness, options);
      const given = { release: wish.image.release, holder: wish.holder };
      const { steps, target } = run(observed, wanted, given);
      // An import that could not start must not look like a plan.
      const imports = steps.some(({ step }) => step === 'import');
      const amounts = imports ? await amountsOf(ports, wish, scope.folder, options) : undefined;
      const complete = await withDefinition(ports, steps, options);
      const weighed = amounts === undefined ? {} : { amounts };
      return { ...base, ...request, target, steps: complete, ...weighed, world: worldOf(observed, wanted) };
    }
    case 'revert': {
      const { to, wanted, liveness } = await prepareRevert(ports, scope, request.wish, options);
      const wish = { ...request.wish, to };
      const observed = await observe(ports.vcenter, scope, wanted, liveness, options);
      const { steps, target } = run(observed, wanted, { release: '', holder: wish.holder });
      const complete = await withDefinition(ports, steps, options);
      return { ...base, kind: 'revert', wish, target, steps: complete, world: worldOf(observed, wanted) };
    }
    case 'adopt': {
      const { vm, claim, world } = await prepareAdoption(ports, scope, request.wish, options);
      const text = `Record that ${vm.name} is owned; it stays a template all the time.`;
      const calls = claim === undefined ? [] : [callOn('SetField', vm, 'ownership')];
      const step: PlannedStep = { step: 'adopt', calls, text };
      const steps = calls.length === 0 ? [] : await withDefinition(ports, [step], options);
      return { ...base, ...request, target: vm.name, steps, world };
    }
    case 'gc':
      return {
        ...base,
        ...request,
        target: base.folder,
        ...(await gcSteps(ports, scope, request.wish, options)),
      };
  }
}

/** What an import would move and take; fails as the import would where that is known without the image. */
async function amountsOf(
  { vcenter, ovas, usedUp }: Ports,
  wish: TemplateWish,
  folder: MoRef,
  call: CallOptions,
): Promise<ImportAmounts> {
  const place = await resolvePlace(vcenter, wish.placement, call);
  const provisioning = await provisioningOf(vcenter, wish, folder, call);
  const size = await ovas.size?.(wish.image, { libraries: vcenter.libraries, ...call });
  const { here = false, bytes, contents } = size ?? {};
  const guess = bytes === undefined ? undefined : estimatedBytes(bytes);
  const needed = contents === undefined ? guess : importBytes(contents.descriptor, provisioning, contents.sizeOf);
  expectSpace(usedUp, place, wish, needed ?? 0);
  const { datastoreName: datastore, freeSpace: free } = place;
  return {
    ...(bytes === undefined ? {} : { bytes }),
    ...(needed === undefined ? {} : { needed }),
    ...{ here, datastore, free, reserve: reserveOf(wish) },
  };
}

/** Decides on predicted worlds until there is nothing left to do. */
function run(
  observed: Observed,
  wanted: Wanted,
  given: Foresight,
): { readonly steps: readonly PlannedStep[]; readonly target: string } {
  const steps: PlannedStep[] = [];
  let world = observed;
  while (steps.length < MAX_STEPS) {
    const step = decide(world, wanted);
    if (step.kind === 'done') return { steps, target: step.name };
    if (step.kind === 'blocked' || step.kind === 'wait')
      throw new TemplateError({ code: step.code, message: step.reason, retriable: step.kind === 'wait' });
    steps.push(planned(step));
    world = foresee(world, step, wanted, given);
  }
  throw new TypeError(`a plan has more than ${MAX_STEPS} steps: ${steps.map(({ step }) => step).join(', ')}`);
}

/** The first value of an attribute in the life of a vCenter defines it. */
async function withDefinition(
  { vcenter }: Ports,
  steps: readonly PlannedStep[],
  call: CallOptions,
): Promise<readonly PlannedStep[]> {
  const unknown = new Set<string>();
  for (const name of new Set(steps.flatMap(({ calls }) => calls.map(attributeOf))))
    if (name !== undefined && !(await vcenter.definesAttribute(name, call))) unknown.add(name);
  const defined = (one: string): readonly string[] => {
    const name = attributeOf(one);
    return name !== undefined && unknown.delete(name) ? [`AddCustomFieldDef "${name}"`, one] : [one];
  };
  return steps.map((step) => ({ ...step, calls: step.calls.flatMap(defined) }));
}

async function gcSteps(
  ports: Ports,
  scope: Scope,
  wish: Extract<PlanRequest, { kind: 'gc' }>['wish'],
  options: PlanOptions,
): Promise<Pick<Plan, 'steps' | 'world'>> {
  const { verdicts, world } = await judge(ports.vcenter, scope, wish.owner, {
    referenced: options.referenced ?? (() => 'unknown'),
    needed: options.needed,
    holderIsLive: options.holderIsLive,
    owner: wish.owner,
    witnesses: ports.witnesses,
    running: ports.running,
    keep: wish.keep,
    graceMs: wish.graceMs,
    signal: options.signal,
  });
  const steps = verdicts
    .filter(({ remove }) => remove)
    .map(({ candidate, reason }) => {
      const { ref, name, instanceUuid, verified } = candidate;
      return planned({ kind: 'destroy', ref, name, instanceUuid, marked: true, finished: verified, reason });
    });
  return { steps, world };
}
