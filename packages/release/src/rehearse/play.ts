import { ConfigMap, Namespace } from '@drydock/api';
import { type Crd, FINDING_CLASSES, type JsonObject, SERVER_LAG_MS } from '@drydock/crd';
import { isAlreadyExists, isNotFound, type KubeObject } from '@drydock/kube';
import { INVENTORY_COMPONENT } from '../apply/inventory/chunk.ts';
import { keptAtBridge, killOnTheWay } from './besides.ts';
import { begin, type Evidence, type Scene, type Script } from './evidence.ts';
import type { Exercise } from './exercise.ts';
import { type Passer, startPasser } from './guard.ts';
import { PATIENCE } from './pace.ts';
import { imageOf, type RehearsedRelease } from './rehearsed-release.ts';
import { diceOf } from './sample.ts';
import { keptValues, resourceOf, snapshot } from './snapshot.ts';
import { MANAGER_NAMESPACE, type Stage } from './stage.ts';
import type { Asked } from './subject.ts';

/** ms without a reason to write, in the time of a real cluster. */
const QUIET = 40_000;
/** ms in which a status is written after its definition is relied on. */
const AFTER_LAG = 1_000;

/** What a preflight may find: that it finds it is known, and whether the way holds all the same is what is rehearsed. */
const FOUND = FINDING_CLASSES.map((name) => `Rollback/${name}`);

/** The older release is applied and used. */
export async function playOlder(stage: Stage, script: Script, evidence: Evidence): Promise<void> {
  begin(evidence, 'Older');
  stage.managers.start();
  await stage.subject.create(stage.images.older);
  await completed(stage, script, stage.older);
  await stage.act('projecting');
  await operatorsAct(stage, script, stage.older.version, 1);
  await record(stage, script, evidence, 'Older');
}

/** Somebody goes forward, as far as the script says; objects of the newer release are made and written. */
export async function playForward(stage: Stage, script: Script, evidence: Evidence): Promise<void> {
  const { newer, components } = stage;
  begin(evidence, 'Forward');
  const free = reachedComponents(components, script);
  const held = components.filter((name) => !free.has(name));
  await stage.rollOuts.hold(new Set(held.map((name) => imageOf(name, newer.version))));
  await want(stage, script, evidence, 'Forward', { image: stage.images.newer });
  if (held.length === 0) await completed(stage, script, newer);
  else await applied(stage, script, newer);
  await operatorsAct(stage, script, newer.version, 1, free);
  evidence.reached = Math.round((100 * free.size) / components.length);
  await record(stage, script, evidence, 'Forward');

  begin(evidence, 'Use');
  await makeObjects(stage, script, evidence);
  await operatorsAct(stage, script, newer.version, 2, free);
  await record(stage, script, evidence, 'Use');
}

/** Back to the older release, by its version alone. */
export async function playBack(stage: Stage, script: Script, evidence: Evidence): Promise<void> {
  const { older } = stage;
  begin(evidence, 'Back');
  const isLegacy = script.besides.includes('legacy');
  if (isLegacy) {
    await stage.act('foreign');
    await operatorsAct(stage, script, stage.newer.version, 1, reachedComponents(stage.components, script));
  }
  await using passer: Passer = startPasser(stage.client, script.pace);
  await want(stage, script, evidence, 'Back', { version: older.version, acceptedRisks: FOUND });
  await stage.rollOuts.hold(new Set());
  await killOnTheWay(stage, script, evidence);
  if (isLegacy) {
    evidence.heldUp = await keptAtBridge(stage, script);
    await stage.act('projecting');
  }
  await completed(stage, script, older);
  await operatorsAct(stage, script, older.version, 2);
  evidence.webhookFailures = [...passer.failures];
  evidence.kept = await keptValues(stage.client, MANAGER_NAMESPACE, script.signal);
  await record(stage, script, evidence, 'Back');

  // What follows from the way, as whether it could be gone once more, is told a moment later.
  await settled(stage, script);
  const idle = begin(evidence, 'Idle');
  const window = script.pace.scaled(QUIET);
  await script.pace.until('a quiet time', PATIENCE + window, async () => Date.now() - idle.from > window);
}

/** Forward again, wholly. */
export async function playAgain(stage: Stage, script: Script, evidence: Evidence): Promise<void> {
  begin(evidence, 'Again');
  await want(stage, script, evidence, 'Again', { image: stage.images.newer });
  await completed(stage, script, stage.newer);
  await operatorsAct(stage, script, stage.newer.version, 2);
  await record(stage, script, evidence, 'Again');
}

/** Which components reach the newer release before the way back is asked for: as many as the script says, chosen by its seed. */
function reachedComponents(components: readonly string[], { abortAt, seed }: Script): ReadonlySet<string> {
  const count = Math.ceil((components.length * abortAt) / 100);
  const dice = diceOf(seed);
  const order = components.map((name) => ({ name, at: dice() })).toSorted((a, b) => a.at - b.at);
  return new Set(order.slice(0, count).map(({ name }) => name));
}

async function want(stage: Stage, script: Script, evidence: Evidence, scene: Scene, wanted: Asked): Promise<void> {
  const asked = performance.now();
  const generation = await stage.subject.want(wanted);
  await script.pace.until(`what is wanted to be seen (${scene})`, PATIENCE, async () => {
    stage.managers.alive();
    return ((await stage.subject.current(script.signal)).status?.observedGeneration ?? 0) >= generation;
  });
  evidence.acknowledged.set(scene, performance.now() - asked);
}

async function completed(stage: Stage, script: Script, { version }: RehearsedRelease): Promise<void> {
  let seen = '';
  await script.pace.until(
    `release ${version}`,
    PATIENCE,
    async () => {
      stage.managers.alive();
      const { status } = await stage.subject.current(script.signal);
      const [head] = status?.history ?? [];
      const failing = status?.conditions?.filter(({ type }) =>
        /^(Failing|ReleaseAccepted|Progressing|Invalid)$/.test(type ?? ''),
      );
      seen = `${head?.version} ${head?.state}; ${failing?.map((one) => `${one.type}=${one.status} ${one.reason}: ${one.message}`).join('; ')}`;
      return head?.version === version && head.state === 'Completed';
    },
    () => seen,
  );
}

/** Everything of a release was applied, though not all of it runs: its last object is there. */
async function applied(stage: Stage, script: Script, { crds, version }: RehearsedRelease): Promise<void> {
  await script.pace.until(`the definitions of ${version}`, PATIENCE, async () => {
    stage.managers.alive();
    const now = await stage.subject.current(script.signal);
    const [done, total] = stage.subject.progressOf(now);
    const live = [...crds.keys()].every((name) => stage.definitions.get({ name }) !== undefined);
    // What is held are the operators; everything else is done.
    return live && now.status?.history?.[0]?.version === version && done >= total - 2 * stage.components.length - 2;
  });
}

/** Waits until the manager says that the way back was judged anew, has found everything as it should be, and relies on the definitions as they are. */
async function settled(stage: Stage, { pace, signal }: Script): Promise<void> {
  const labels = `app.kubernetes.io/component=${INVENTORY_COMPONENT}`;
  const quiet = Math.max(pace.scaled(QUIET) / 2, SERVER_LAG_MS + AFTER_LAG);
  let last = '';
  let since = Date.now();
  await pace.until('the manager to be done', PATIENCE + quiet, async () => {
    stage.managers.alive();
    const inventory = await Array.fromAsync(
      stage.client.list(ConfigMap, { namespace: MANAGER_NAMESPACE, labels }, { signal }),
    );
    const all = [await stage.subject.current(signal), ...inventory];
    const now = all.map(({ metadata }) => metadata.resourceVersion).join();
    if (now !== last) since = Date.now();
    last = now;
    return Date.now() - since > quiet;
  });
}

/** Waits until each operator acts as a release, and has written so often since now. */
export async function operatorsAct(
  stage: Stage,
  { pace }: Script,
  version: string,
  times: number,
  which: ReadonlySet<string> = new Set(stage.components),
): Promise<void> {
  const before = new Map(stage.actors.map((one) => [one.component, one.acts === version ? one.rounds : 0]));
  await pace.until(
    `operators of ${version}`,
    PATIENCE,
    async () => {
      stage.managers.alive();
      return stage.actors.every(
        ({ acts, component, rounds }) =>
          !which.has(component) || (acts === version && rounds >= (before.get(component) ?? 0) + times),
      );
    },
    () => stage.actors.map(({ acts, component }) => `${component} acts as ${acts ?? 'none'}`).join(', '),
  );
}

/** Made as their users make them: the object, then its status. A kind that was made known this moment may say that it is not ready. */
async function makeObjects(stage: Stage, script: Script, evidence: Evidence): Promise<void> {
  const crds: readonly Crd[] = [...stage.newer.crds.values()];
  const user = await stage.clientOf('user');
  for (const body of [...playable(evidence.exercises), ...script.objects]) {
    const crd = crds.find(
      ({ group, kind }) => kind === body['kind'] && `${body['apiVersion'] as string}`.startsWith(`${group}/`),
    );
    const resource = crd === undefined ? undefined : resourceOf(crd);
    if (resource === undefined) continue;
    const { metadata, status } = body as unknown as KubeObject & { readonly status?: JsonObject };
    if (metadata.namespace !== undefined) await ensureNamespace(stage, metadata.namespace);
    let made: KubeObject | undefined;
    await script.pace.until(`${crd?.name} ${metadata.name}`, PATIENCE, async () => {
      try {
        made = await user.create(resource, body as unknown as KubeObject, { signal: script.signal });
      } catch (error) {
        // A definition that was changed this moment may not be served for the next one.
        if (isNotFound(error)) return false;
        if (!isAlreadyExists(error)) throw error;
        made = await user.get(resource, metadata, { signal: script.signal });
      }
      return true;
    });
    if (status === undefined || made === undefined) continue;
    const written = { ...made, status } as KubeObject;
    await user.replaceStatus(resource, written, { signal: script.signal });
  }
}

/** Those that a status writer can bring back: what a person wrote into a spec only a person can change. */
export function playable(exercises: readonly Exercise[]): readonly JsonObject[] {
  return exercises.filter(({ effect }) => effect !== 'spec').map(({ object }) => object);
}

async function ensureNamespace({ client }: Stage, name: string): Promise<void> {
  try {
    await client.create(Namespace, { metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

async function record(stage: Stage, { signal }: Script, evidence: Evidence, scene: Scene): Promise<void> {
  const crds = new Map([...stage.older.crds, ...stage.newer.crds]).values();
  evidence.subjects.set(scene, await stage.subject.current(signal));
  evidence.snapshots.set(scene, await snapshot(stage.client, crds, signal));
}
