import {
  type Crd,
  ERAS,
  isObject,
  isSameLoss,
  type Json,
  type JsonObject,
  judge,
  type Loss,
  losses,
} from '@drydock/crd';
import { narrows } from '../rollback/definitions.ts';
import type { AuditedCall } from './audit.ts';
import type { ControlCell } from './control.ts';
import type { Evidence, Scene } from './evidence.ts';
import { isManager } from './managers.ts';
import { operatorUser } from './operator-actor.ts';
import { componentOf, type RehearsedRelease } from './rehearsed-release.ts';
import { ACCOUNT_USER } from './stage.ts';

/** One thing that must hold. */
export interface Assertion {
  /** A1 to A17. */
  readonly id: string;
  readonly title: string;
  /** `skipped`: this cell does not show it. */
  readonly verdict: 'passed' | 'failed' | 'skipped';
  /** What was seen: of a failure, what is wrong first. */
  readonly seen: string;
}

/** What assertions are made of. */
export interface Proof {
  readonly evidence: Evidence;
  readonly calls: readonly AuditedCall[];
  readonly older: RehearsedRelease;
  readonly newer: RehearsedRelease;
  readonly components: readonly string[];
  /** Definitions as they were after the way back, by name. */
  readonly narrowed: ReadonlyMap<string, Crd>;
  readonly control: readonly ControlCell[];
  readonly managerLog: string;
  readonly wholly: boolean;
}

type Check = (proof: Proof) => readonly [problems: readonly string[], seen: string] | string;

const ACKNOWLEDGED_MS = 120_000;

const CHECKS: readonly (readonly [id: string, title: string, check: Check])[] = [
  ['A1', 'what is wanted is acknowledged within two minutes', acknowledged],
  ['A2', 'the history tells the way, in order', history],
  ['A3', 'the release is available, and nothing of the way is left to do', conditions],
  ['A4', 'the status is about what is wanted now', generations],
  ['A5', 'nothing that the manager wrote was refused', managerWrites],
  ['A6', 'no status write of an operator was refused', operatorWrites],
  ['A7', 'the manager failed at nothing', managerFailures],
  ['A8', 'somebody leads all the time, whoever is killed', leaders],
  ['A9', 'every stored object is legal for the older release, as strictly as a server can be', legality],
  ['A10', 'versions that are stored are served', storedVersions],
  ['A11', 'what the older release cannot hold is kept', kept],
  ['A12', 'forward again everything is there', restored],
  [
    'A13',
    'definitions narrow after the last write of the newer release, and webhooks go before what answers them',
    order,
  ],
  ['A14', 'nothing is left that only the newer release looks after', leftovers],
  ['A15', 'nothing is written while nothing is wanted', idle],
  ['A16', 'operators that remember are refused in exactly the predicted places', control],
  ['A17', 'a definition stays where both releases can write while its operator looks at no schema', heldUp],
];

/** Everything that must hold after a rehearsal, in order. Pure. */
export function assertionsOn(proof: Proof): readonly Assertion[] {
  return CHECKS.map(([id, title, check]) => {
    const found = check(proof);
    if (typeof found === 'string') return { id, title, verdict: 'skipped', seen: found };
    const [problems, seen] = found;
    const more = problems.length > 3 ? ` (and ${problems.length - 3} more)` : '';
    return problems.length === 0
      ? { id, title, verdict: 'passed', seen }
      : { id, title, verdict: 'failed', seen: `${problems.slice(0, 3).join('; ')}${more}` };
  });
}

function acknowledged({ evidence }: Proof): ReturnType<Check> {
  const all = [...evidence.acknowledged];
  const late = all.flatMap(([scene, ms]) => (ms > ACKNOWLEDGED_MS ? [`${scene} took ${seconds(ms)}`] : []));
  return [late, all.map(([scene, ms]) => `${scene} ${seconds(ms)}`).join(', ')];
}

function history({ evidence, older, newer, wholly }: Proof): ReturnType<Check> {
  const entries = evidence.subjects.get('Back')?.status?.history ?? [];
  const told = entries.map(({ version, state }) => `${version} ${state}`).toReversed();
  const forward = wholly ? ['Completed'] : ['Completed', 'Partial'];
  const wanted = forward.map((state) =>
    [`${older.version} Completed`, `${newer.version} ${state}`, `${older.version} Completed`].join(', '),
  );
  const problems = wanted.includes(told.join(', ')) ? [] : [`it says ${told.join(', ')}`];
  const times = entries.map(({ startedTime = '' }) => Date.parse(startedTime)).toReversed();
  if (times.some((time, at) => at > 0 && time < (times[at - 1] ?? 0))) problems.push('its times go back');
  return [problems, told.join(', ')];
}

const WANTED: Readonly<Record<string, string>> = { Available: 'True', Progressing: 'False', Failing: 'False' };

function conditions({ evidence }: Proof): ReturnType<Check> {
  const all = evidence.subjects.get('Back')?.status?.conditions ?? [];
  const problems = Object.entries(WANTED).flatMap(([type, status]) => {
    const one = all.find((condition) => condition.type === type);
    return one?.status === status ? [] : [`${type} is ${one?.status ?? 'absent'}: ${one?.message ?? ''}`];
  });
  const incomplete = all.find(({ type, status }) => type === 'RollbackIncomplete' && status === 'True');
  if (incomplete !== undefined) problems.push(`RollbackIncomplete: ${incomplete.message}`);
  return [problems, 'Available, not Progressing, not Failing, nothing incomplete'];
}

function generations({ evidence }: Proof): ReturnType<Check> {
  const problems = [...evidence.subjects].flatMap(([scene, { metadata, status }]) =>
    status?.observedGeneration === metadata.generation
      ? []
      : [`${scene}: ${status?.observedGeneration} of ${metadata.generation}`],
  );
  return [problems, `${evidence.subjects.size} looks`];
}

/** Writes that changed something, or were to, while the way was gone. */
function writes({ calls, evidence }: Proof, scenes: readonly Scene[]): readonly AuditedCall[] {
  const times = evidence.scenes.filter(({ scene }) => scenes.includes(scene));
  return calls.filter(({ at, dryRun }) => !dryRun && times.some(({ from, to }) => at >= from && at < to));
}

const PLAYED: readonly Scene[] = ['Older', 'Forward', 'Use', 'Back', 'Idle', 'Again'];

function managerWrites(proof: Proof): ReturnType<Check> {
  const own = writes(proof, PLAYED).filter(({ user }) => isManager(user) || user === ACCOUNT_USER);
  return [own.filter(isRefused).map(refusalText), `${own.length} writes`];
}

function operatorWrites(proof: Proof): ReturnType<Check> {
  const own = writes(proof, PLAYED).filter(({ user }) => user.startsWith('operator-'));
  return [own.filter(isRefused).map(refusalText), `${own.length} writes of ${proof.components.length} operators`];
}

function isRefused({ code }: AuditedCall): boolean {
  return code === 422 || code === 500;
}

function refusalText({ user, verb, resource, name, code, message }: AuditedCall): string {
  return `${user} ${verb} ${resource} ${name}: ${code} ${message.slice(0, 200)}`;
}

function managerFailures({ evidence, managerLog }: Proof): ReturnType<Check> {
  const errors = managerLog.split('\n').filter((line) => /"level":(50|60)/.test(line));
  // A server that was killed answers nobody, and one that has just come up not everything; whoever cannot renew its Lease meanwhile has lost it.
  const lines = evidence.serverKilled
    ? errors.filter(
        (line) => !/"code":"(Connection|BrokenStream|Unavailable|Timeout|ServerError|LeaseLost)"/.test(line),
      )
    : errors;
  return [lines.map(logText), 'no error in its log'];
}

/** What went wrong in a line of a log, with the object that it is about. */
function logText(line: string): string {
  try {
    const {
      err,
      msg = '',
      object = '',
    } = JSON.parse(line) as Readonly<Record<'msg' | 'object', string | undefined>> & {
      readonly err?: { readonly message?: string };
    };
    return [object, msg, err?.message ?? '']
      .filter((part) => part !== '')
      .join(': ')
      .slice(0, 300);
  } catch {
    return line.slice(0, 300);
  }
}

/** ms without a renewal of the Lease: its holder's time and, after a death, that of who comes next. */
const LEADERLESS_MS = 60_000;

function leaders(proof: Proof): ReturnType<Check> {
  const { evidence } = proof;
  const renewals = writes(proof, PLAYED).filter(
    ({ code, resource, user }) => resource === 'leases' && isManager(user) && code < 300,
  );
  const users = new Set(renewals.map(({ user }) => user));
  if (users.size < 2 && evidence.killed.length === 0) return 'one manager ran from the beginning to the end';
  const gaps = renewals.map(({ at }, index) => at - (renewals[index - 1]?.at ?? at));
  const longest = Math.max(0, ...gaps);
  const problems = longest > LEADERLESS_MS ? [`nobody led for ${seconds(longest)}`] : [];
  const killed = evidence.killed.length === 0 ? '' : `; killed: ${evidence.killed.join('; ')}`;
  return [problems, `${users.size} led, nobody for at most ${seconds(longest)}${killed}`];
}

function heldUp({ evidence }: Proof): ReturnType<Check> {
  if (evidence.heldUp === undefined) return 'every operator keeps within both releases while one goes back';
  const { definitions, said } = evidence.heldUp;
  if (said === '' && definitions.length === 0) return 'no operator put back what the older release does not take';
  const untold = definitions.filter((name) => !said.includes(name));
  const problems = untold.map((name) => `${name} is at the bridge, and RollbackIncomplete does not say so: ${said}`);
  if (definitions.length === 0) problems.push(`nothing is at the bridge, and RollbackIncomplete says: ${said}`);
  return [problems, `${definitions.join(', ')} until it was mended`];
}

function legality({ evidence, older }: Proof): ReturnType<Check> {
  const after = evidence.snapshots.get('Back') ?? new Map<string, JsonObject>();
  const problems: string[] = [];
  let looked = 0;
  for (const [key, body] of after) {
    const [definition = '', object = ''] = key.split(' ');
    const crd = older.crds.get(definition);
    const schema = crd?.versions.find((one) => one.storage)?.schema;
    if (crd === undefined || schema === undefined) continue;
    looked += 1;
    const next = {
      apiVersion: `${crd.group}/v1`,
      kind: crd.kind,
      metadata: { name: object.split('/').at(-1) ?? '' },
      ...body,
    };
    const { causes } = judge({ endpoint: 'create', next, schema, hasStatus: false }, ERAS.E0);
    for (const { message, path } of causes) problems.push(`${key} at ${path.join('.')}: ${message}`);
  }
  return [problems, `${looked} objects`];
}

function storedVersions({ narrowed, older }: Proof): ReturnType<Check> {
  const problems = [...older.crds.keys()].flatMap((name) => {
    const live = narrowed.get(name);
    if (live === undefined) return [`${name} is not there`];
    const served = new Set(live.versions.flatMap((one) => (one.served ? [one.name] : [])));
    return live.storedVersions.flatMap((one) => (served.has(one) ? [] : [`${name}: ${one} is stored and not served`]));
  });
  return [problems, `${older.crds.size} definitions`];
}

/** What a later look than that at use lacks of it, by object. */
function lacking(
  { managed, snapshots }: Evidence,
  scene: Scene,
): readonly { readonly key: string; readonly loss: Loss }[] {
  const after = snapshots.get(scene);
  return [...(snapshots.get('Use') ?? [])].flatMap(([key, body]) => {
    const now = after?.get(key);
    if (now === undefined) return [{ key, loss: { at: [], value: 'the object' } }];
    const all = losses(body, withGrown(body, now) as JsonObject);
    // Which release is wanted, and how far that is, changes while the way is gone.
    const precious = key === managed ? all.filter(({ at }) => at[1] === 'capabilities') : all;
    return precious.map((loss) => ({ key, loss }));
  });
}

/** What is there now, with lists of words that have grown as they were: whoever knows more words has taken none away. */
function withGrown(before: Json, now: Json): Json {
  if (Array.isArray(before) && Array.isArray(now)) {
    const words = now as readonly Json[];
    const isGrown = (before as readonly Json[]).every((one) => typeof one === 'string' && words.includes(one));
    return isGrown ? before : now;
  }
  if (!isObject(before) || !isObject(now)) return now;
  const fields = Object.entries(now).map(([name, value]) => {
    const old = before[name];
    return [name, old === undefined ? value : withGrown(old, value)];
  });
  return Object.fromEntries(fields) as JsonObject;
}

function kept({ evidence }: Proof): ReturnType<Check> {
  const missing = lacking(evidence, 'Back');
  const problems = missing.flatMap(({ key, loss }) => {
    const object = key.slice(key.indexOf(' ') + 1);
    const below = loss.at[0] === 'status' ? { ...loss, at: loss.at.slice(1) } : loss;
    const found = evidence.kept.some((one) => one.object === object && covers(one.entry, below));
    return found ? [] : [`${key} at ${loss.at.join('.')}`];
  });
  return [problems, `${missing.length} values are not in their objects, ${evidence.kept.length} are kept`];
}

/** Whether a kept value is this one, or has it inside. */
function covers(entry: Loss, loss: Loss): boolean {
  if (isSameLoss(entry, loss)) return true;
  const [a, b] = [entry.at.filter(isName), loss.at.filter(isName)];
  return a.length <= b.length && a.every((part, at) => part === b[at]);
}

function isName(part: string | number): part is string {
  return typeof part === 'string';
}

function restored({ evidence }: Proof): ReturnType<Check> {
  const missing = lacking(evidence, 'Again');
  const objects = evidence.snapshots.get('Use')?.size ?? 0;
  return [
    missing.map(({ key, loss }) => `${key} at ${loss.at.join('.')}: ${JSON.stringify(loss.value)?.slice(0, 80)}`),
    `${objects} objects, lost: 0`,
  ];
}

function order(proof: Proof): ReturnType<Check> {
  const { evidence, newer, older } = proof;
  const back = writes(proof, ['Back']);
  const problems: string[] = [];
  let narrowedCount = 0;
  for (const [name, crd] of older.crds) {
    const puts = back.filter(
      (call) =>
        call.resource === 'customresourcedefinitions' &&
        call.name === name &&
        call.code < 300 &&
        call.sent !== undefined,
    );
    const before = newer.crds.get(name);
    if (puts.length === 0 || before === undefined || !narrows(before, crd)) continue;
    const last = puts.at(-1);
    narrowedCount += 1;
    const user = operatorUser(componentOf(crd), newer.version);
    const late = back.find((call) => call.user === user && isAbout(call, crd) && call.at > (last?.at ?? 0));
    if (late !== undefined) problems.push(`${user} wrote ${late.resource} after ${name} had narrowed`);
  }
  if (evidence.webhookFailures.length > 0)
    problems.push(`${evidence.webhookFailures.length} calls failed at a webhook: ${evidence.webhookFailures[0]}`);
  return [problems, `${narrowedCount} definitions narrowed while going back`];
}

function isAbout({ group, resource }: AuditedCall, crd: Crd): boolean {
  return group === crd.group && resource.split('/')[0] === crd.plural;
}

function leftovers({ evidence }: Proof): ReturnType<Check> {
  const problems = evidence.left.map((one) => `${one} is still there`);
  if (evidence.settings.includes('more')) problems.push('a key of the newer release is still in its ConfigMap');
  if (evidence.retired.length === 0) problems.push('what the newer release deleted has not come again');
  return [problems, 'workloads, webhook and key of the newer release are gone, what it deleted is there again'];
}

function idle(proof: Proof): ReturnType<Check> {
  const own = writes(proof, ['Idle']).filter(
    ({ user, resource }) => (isManager(user) || user === ACCOUNT_USER) && resource !== 'leases',
  );
  return [own.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`), 'no write but to the Lease'];
}

function control({ control: cells }: Proof): ReturnType<Check> {
  const decided = cells.filter(({ predicted }) => predicted !== 'undecided');
  if (decided.length === 0) return 'no object shows a difference';
  const problems = decided.flatMap(({ definition, object, write, predicted, observed }) =>
    predicted === observed ? [] : [`${write} of ${definition} ${object} was ${observed}, and not ${predicted}`],
  );
  const refused = decided.filter(({ predicted }) => predicted === 'refused').length;
  return [problems, `${refused} of ${decided.length} writes refused, as predicted`];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
