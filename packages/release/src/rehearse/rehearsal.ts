import { ConfigMap, type CustomResourceDefinition } from '@drydock/api';
import type { RuleId } from '@drydock/crd';
import { type Crd, type Era, type JsonObject, readCrd } from '@drydock/crd';
import { isNotFound } from '@drydock/kube';
import { type Assertion, assertionsOn } from './assertions.ts';
import type { AuditedCall } from './audit.ts';
import { type ControlCell, playControl } from './control.ts';
import { type Besides, type Evidence, noEvidence, type SceneTime, type Script } from './evidence.ts';
import { paceOf } from './pace.ts';
import { playAgain, playBack, playForward, playOlder } from './play.ts';
import type { RehearsalPorts } from './ports.ts';
import { GUARD, NAMESPACE, RETIRED, type ReleaseParts, SETTINGS } from './rehearsed-release.ts';
import { diceOf } from './sample.ts';
import { type Stage, setStage } from './stage.ts';
import type { RehearsedFace } from './subject.ts';

/** What is rehearsed. */
export interface RehearsalWish {
  readonly older: ReleaseParts;
  readonly newer: ReleaseParts;
  /** Which servers. */
  readonly eras: readonly Era[];
  /** Shares of operators, in percent, at which the way forward is broken off. */
  readonly abortAt: readonly (number | 'random')[];
  readonly seed: number;
  /** 1: as slow as a real cluster. */
  readonly timeScale: number;
  /** Stored objects of a cluster, made besides those that follow from the definitions. */
  readonly objects: readonly JsonObject[];
  /** With controllers, a scheduler and nodes; without, workloads are played. */
  readonly workloads: boolean;
  /** What says which release is wanted. */
  readonly face: RehearsedFace;
  /** What happens besides, on each way back. */
  readonly besides: readonly Besides[];
  readonly signal: AbortSignal;
  /** Told what is being done. */
  readonly say: (line: string) => void;
}

/** One way there, back and there again, on one kind of server. */
export interface RehearsalCell {
  readonly era: Era;
  /** Name and version of the API server that it began with, such as `kube-apiserver v1.34.4`. */
  readonly server: string;
  /** In percent. */
  readonly abortAt: number;
  readonly seed: number;
  readonly face: RehearsedFace;
  readonly besides: readonly Besides[];
  readonly assertions: readonly Assertion[];
  readonly control: readonly ControlCell[];
  readonly exercises: readonly {
    readonly definition: string;
    readonly rule?: RuleId;
    readonly path: string;
    readonly effect: string;
  }[];
  readonly unexercised: readonly {
    readonly definition: string;
    readonly rule: RuleId;
    readonly path: string;
    readonly why: string;
  }[];
  readonly timeline: readonly TimelineEntry[];
  readonly scenes: readonly { readonly scene: string; readonly from: number; readonly to: number }[];
  /** ms. */
  readonly took: number;
  /** What ended it before its end. */
  readonly broken?: string;
}

/** Writes of one kind by one user within a moment. Times are ms since the cell began. */
export interface TimelineEntry {
  readonly at: number;
  readonly actor: string;
  readonly verb: string;
  readonly resource: string;
  readonly code: number;
  readonly count: number;
}

/** What came of it. */
export interface RehearsalReport {
  readonly older: string;
  readonly newer: string;
  readonly seed: number;
  readonly passed: boolean;
  readonly cells: readonly RehearsalCell[];
}

/** What tells a cell from others, as a clause. */
export function cellTitle({
  abortAt,
  besides,
  era,
  face,
}: Pick<RehearsalCell, 'era' | 'abortAt' | 'face' | 'besides'>): string {
  const by = face === 'Payload' ? '' : `, by ${face}`;
  return [`${era}${by}, broken off at ${abortAt} %`, ...besides.map((one) => `with ${SAID[one]}`)].join(', ');
}

const SAID: Readonly<Record<Besides, string>> = {
  managers: 'two managers',
  servers: 'another API server on the way',
  legacy: 'operators that look at no schema',
};

/** Plays every cell, one after the other: servers × shares. Rejects with the signal's reason, and with what starting servers meets; what goes wrong in a cell is in its report. */
export async function rehearse(wish: RehearsalWish, ports: RehearsalPorts): Promise<RehearsalReport> {
  const cells: RehearsalCell[] = [];
  const dice = diceOf(wish.seed);
  for (const era of wish.eras)
    for (const share of wish.abortAt) {
      const abortAt = share === 'random' ? 1 + (dice() % 99) : share;
      wish.say(`${cellTitle({ ...wish, era, abortAt })}, seed ${wish.seed}`);
      cells.push(await playCell(wish, { era, abortAt }, ports));
    }
  const passed = cells.every(
    ({ assertions, broken }) => broken === undefined && assertions.every(({ verdict }) => verdict !== 'failed'),
  );
  return { older: wish.older.version, newer: wish.newer.version, seed: wish.seed, passed, cells };
}

async function playCell(
  wish: RehearsalWish,
  { era, abortAt }: { readonly era: Era; readonly abortAt: number },
  ports: RehearsalPorts,
): Promise<RehearsalCell> {
  const began = Date.now();
  const failed = new AbortController();
  const signal = AbortSignal.any([wish.signal, failed.signal]);
  const pace = paceOf(wish.timeScale, signal, (error) => failed.abort(error));
  const { besides, face, objects, say, seed } = wish;
  const script: Script = { era, abortAt, seed, objects, besides, pace, signal, say };
  await using stage = await setStage(
    { era, face, workloads: wish.workloads, older: wish.older, newer: wish.newer, managers: managersIn(besides) },
    ports,
    pace,
    signal,
  );
  const evidence = noEvidence(stage, script);
  let narrowed: ReadonlyMap<string, Crd> = new Map();
  let control: readonly ControlCell[] = [];
  let broken: string | undefined;
  try {
    await playOlder(stage, script, evidence);
    await playForward(stage, script, evidence);
    await playBack(stage, script, evidence);
    narrowed = liveDefinitions(stage);
    await lookForLeftovers(stage, evidence, signal);
    await playAgain(stage, script, evidence);
    control = await playControl(stage, script, evidence);
  } catch (error) {
    wish.signal.throwIfAborted();
    broken = ((failed.signal.reason as Error | undefined) ?? (error as Error)).message;
    say(`broken off: ${broken}`);
  }
  end(evidence);
  const { older, newer, components } = stage;
  const calls = stage.audit.calls();
  const proof = { evidence, calls, older, newer, components, narrowed, control, managerLog: stage.managers.log() };
  const assertions = assertionsOn({ ...proof, wholly: abortAt === 100 });
  for (const { id, title, verdict, seen } of assertions) if (verdict === 'failed') say(`${id} ${title}: ${seen}`);
  return {
    ...{ era, server: stage.server, abortAt, seed, face, besides, assertions, control, took: Date.now() - began },
    exercises: evidence.exercises.map(({ definition, rule, path, effect }) => ({
      ...{ definition, path, effect },
      ...(rule === undefined ? {} : { rule }),
    })),
    unexercised: evidence.unexercised,
    timeline: timelineOf(calls, began),
    scenes: evidence.scenes.map(({ scene, from, to }) => ({ scene, from: from - began, to: to - began })),
    ...(broken === undefined ? {} : { broken }),
  };
}

function managersIn(besides: readonly Besides[]): number {
  return besides.includes('managers') ? 2 : 1;
}

function end({ scenes }: Evidence): void {
  const last: SceneTime | undefined = scenes.at(-1);
  if (last !== undefined) last.to = Date.now();
}

function liveDefinitions(stage: Stage): ReadonlyMap<string, Crd> {
  const all = [...stage.definitions.all()] as readonly CustomResourceDefinition[];
  return new Map(
    all.map((one) => {
      const crd = readCrd({ kind: 'CustomResourceDefinition', ...one } as unknown as JsonObject, 'the cluster');
      return [crd.name, crd];
    }),
  );
}

/** What only the newer release brings, and what both do. */
async function lookForLeftovers({ client }: Stage, evidence: Evidence, signal: AbortSignal): Promise<void> {
  const left: string[] = [];
  const webhook = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/rehearsal-guard';
  const deployment = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${GUARD}`;
  for (const path of [webhook, deployment]) {
    try {
      await client.raw({ path }, { signal });
      left.push(path);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  const keys = async (name: string): Promise<readonly string[]> => {
    try {
      return Object.keys((await client.get(ConfigMap, { namespace: NAMESPACE, name }, { signal })).data ?? {});
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  evidence.left = left;
  evidence.settings = await keys(SETTINGS);
  evidence.retired = await keys(RETIRED);
}

/** ms within which equal writes are one entry. */
const MOMENT = 200;

/** The audit log, with equal writes of a moment as one. */
export function timelineOf(calls: readonly AuditedCall[], began: number): readonly TimelineEntry[] {
  const entries = new Map<string, { entry: TimelineEntry }>();
  for (const { at, user, verb, resource, code, dryRun } of calls) {
    if (resource === 'leases' || dryRun || user.startsWith('system:')) {
      if (!user.startsWith('system:serviceaccount:drydock:') || resource === 'leases' || dryRun) continue;
    }
    const moment = Math.floor((at - began) / MOMENT);
    const key = `${moment} ${user} ${verb} ${resource} ${code}`;
    const known = entries.get(key);
    if (known === undefined)
      entries.set(key, { entry: { at: at - began, actor: user, verb, resource, code, count: 1 } });
    else known.entry = { ...known.entry, count: known.entry.count + 1 };
  }
  return [...entries.values()].map(({ entry }) => entry);
}
