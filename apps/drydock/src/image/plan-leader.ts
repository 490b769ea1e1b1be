import { oneLine } from '@drydock/api/text';
import {
  type CarriedOut,
  type CarryOutHooks,
  type PlanRun,
  planPart,
  planRun,
  serverOf,
  worldNow,
} from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import { templateStore } from '@drydock/templates';
import { loginBudget } from '@drydock/vsphere';
import { storeDuring } from '../image-store.ts';
import { clusterLogins } from '../login-notes.ts';
import { markKeySecret, markKeys } from '../mark-keys.ts';
import { clusterLedger } from '../ownership-ledger.ts';
import { type Led, underLease } from '../plan-lease.ts';
import { progressLine } from '../template/progress-line.ts';
import { sayError } from '../terminal.ts';
import type { VCenterFlags } from '../vcenter-flags.ts';
import { connector, vcenters } from '../vcenters.ts';
import type { ImagesTold } from './image-flags.ts';
import type { ImagePlan } from './plan-file.ts';
import { rotationsOf } from './rotations.ts';

/** What {@link leadPlan} needs. */
export interface PlanLeaderOptions {
  readonly client: KubeClient;
  readonly flags: VCenterFlags;
  readonly images: ImagesTold;
  readonly signal: AbortSignal;
}

/** Takes the Lease of the operator, carries the plan out and gives the Lease back. Undefined where the Lease could not be had. */
export async function leadPlan(plan: ImagePlan, options: PlanLeaderOptions): Promise<CarriedOut | undefined> {
  const { client, images, signal } = options;
  const outcome = await underLease((led) => carriedOut({ plan, ...options, ...led }), {
    ...{ client, role: 'boot-images', namespace: images.leaseNamespace, signal },
  });
  signal.throwIfAborted();
  return outcome;
}

/** First the part of Machine API, then that of Cluster API. */
async function carriedOut(options: LedOptions): Promise<CarriedOut> {
  const { plan, signal } = options;
  const [own, rotated] = [planPart(plan, 'MachineAPI'), planPart(plan, 'ClusterAPI')];
  const hooks = telling();
  if (own.steps.length > 0 || rotated.steps.length === 0) {
    await using led = await ledBy(options);
    const outcome = await led.carryOut(own, { hooks, signal });
    if (outcome.kind !== 'done' || rotated.steps.length === 0) return outcome;
  }
  const { client, flags, images, leader, log } = options;
  const logins = loginBudget({ notes: clusterLogins(client, images.leaseNamespace), log });
  await using rotations = await rotationsOf({
    ...{ client, flags, images, leader, logins, signal, retain: plan.told.keep },
    world: await worldNow(client, { signal }),
    warn: (message) => sayError(oneLine(`warning: ${message}`)),
  });
  if (rotations === undefined)
    return { kind: 'moved', why: 'Cluster API is not served any more', begun: own.steps.length > 0 };
  return await rotations.carryOut(rotated, { hooks, signal });
}

interface LedOptions extends PlanLeaderOptions, Led {
  readonly plan: ImagePlan;
  readonly signal: AbortSignal;
}

/** What the operator wires, for one plan. */
async function ledBy({
  leader,
  plan,
  log,
  client,
  flags,
  images,
}: LedOptions): Promise<Pick<PlanRun, 'carryOut'> & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const reach = await connector(flags, log, loginBudget({ notes: clusterLogins(client, images.leaseNamespace), log }));
  const servers = opening.use(
    vcenters({
      connect: (server, credentials) => reach(serverOf(server), credentials),
      secret: () => run?.credentials(),
      metrics: { vcenterCall: () => undefined, vcenterSessions: () => undefined },
    }),
  );
  const store = opening.use(
    templateStore({
      ...{ vcenters: servers.of, cacheDir: images.cacheDir },
      markKeys: markKeys(client, markKeySecret(images.markKeySecret), log),
      ledger: clusterLedger(client, images.leaseNamespace),
      fence: () => leader.assertHeld(),
      cluster: {
        recorded: (operation, instanceUuid) => run?.records.recorded(operation, instanceUuid) ?? false,
        refers: (name) => run?.records.refers(name) ?? false,
        retired: (name) => run?.records.retired(name) ?? false,
      },
    }),
  );
  const { downgrade, stubSecret, templates: publication, keep: retain } = plan.told;
  const run: PlanRun | undefined = opening.use(
    planRun({
      ...{ client, store: storeDuring(store, servers), leader, log, downgrade, stubSecret, publication, retain },
      locate: images.locate,
    }),
  );
  const resources = opening.move();
  return { carryOut: run.carryOut, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Tells on stderr what happens: each event as a line, bytes as one that is redrawn, and what is waited for. */
function telling(): CarryOutHooks {
  const line = progressLine(process.stderr, () => performance.now());
  let waits = '';
  const tell = (text: string): void => {
    line.settle();
    sayError(oneLine(text));
  };
  return {
    event: (set, reason, note) => tell(`${set} ${reason}: ${note}`),
    outcome: (set, outcome) => {
      if (outcome.kind === 'step' && outcome.progress !== undefined) line.show(outcome.progress);
      if (outcome.kind === 'waiting') tell(`${set} waits: ${outcome.message}`);
      if (outcome.kind === 'step' && outcome.note !== undefined && outcome.note !== waits) {
        waits = outcome.note;
        tell(`${set}: ${waits}`);
      }
    },
    pause: (_, left) => {
      const collects = left.every(({ kind }) => kind === 'collect');
      if (!collects || waits === 'collect') return;
      waits = 'collect';
      tell(
        `${left.length} ${left.length === 1 ? 'template is' : 'templates are'} removed when nothing was moved for a minute`,
      );
    },
  };
}
