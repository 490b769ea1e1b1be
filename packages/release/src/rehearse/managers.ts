import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lease } from '@drydock/api';
import type { KubeClient } from '@drydock/kube';
import type { RehearsalCluster, RehearsalPorts, RunningOperator } from './ports.ts';

/** Lease of the role; one with the same name as the first manager's user. */
const LEASE = 'drydock-release';

/** The product as it is deployed: as many processes as there are replicas, of which one leads. */
export interface Managers extends AsyncDisposable {
  start(): void;
  /** Ends all of them. */
  dismiss(): Promise<void>;
  /** Throws when one has ended by itself. One that is excused and lost its Lease is started anew, as its Deployment does. */
  alive(): void;
  /** Whoever has no server loses its Lease: each may, once. */
  excuse(): void;
  /** What they logged. */
  log(): string;
  /** Kills the one that leads, and starts it anew. Resolves to its user; undefined: nobody leads. */
  killLeader(): Promise<string | undefined>;
}

/** Users of so many managers, as an API server knows them. */
export function managerUsers(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => (at === 0 ? LEASE : `${LEASE}-${at + 1}`));
}

/** Whether a user is one of the managers. */
export function isManager(user: string): boolean {
  return user === LEASE || new RegExp(`^${LEASE}-\\d+$`).test(user);
}

/** Defines them; none runs yet. */
export function managersOf(
  count: number,
  context: {
    readonly ports: Pick<RehearsalPorts, 'startOperator'>;
    readonly cluster: Pick<RehearsalCluster, 'directory' | 'kubeconfigFor'>;
    readonly client: KubeClient;
    /** Of the Lease. */
    readonly namespace: string;
    readonly flags: readonly string[];
  },
): Managers {
  const { client, cluster, flags, namespace, ports } = context;
  const programs = managerUsers(count).map((user) => ({
    user,
    log: join(cluster.directory, `rehearsal-${user}.log`),
    kubeconfig: cluster.kubeconfigFor({ user, groups: ['system:masters'] }),
  }));
  const running = new Map<string, RunningOperator>();
  const excused = new Set<string>();
  const startOne = ({ kubeconfig, log, user }: (typeof programs)[number]): void => {
    const role = ['--roles', 'release', '--lease-namespace', namespace, '--identity', user, '--port', '0'];
    running.set(user, ports.startOperator(['operator', '--kubeconfig', kubeconfig, ...role, ...flags], log));
  };
  const dismiss = async (): Promise<void> => {
    await Promise.all([...running.values()].map((one) => one[Symbol.asyncDispose]()));
    running.clear();
  };
  return {
    start: () => programs.forEach(startOne),
    dismiss,
    alive: () => {
      for (const one of programs) {
        try {
          running.get(one.user)?.alive();
        } catch (error) {
          if (!readFileSync(one.log, 'utf8').includes('"code":"LeaseLost"') || !excused.delete(one.user)) throw error;
          startOne(one);
        }
      }
    },
    excuse: () => {
      for (const { user } of programs) excused.add(user);
    },
    log: () => programs.map(({ log }) => readFileSync(log, 'utf8')).join(''),
    killLeader: async () => {
      const { spec } = await client.get(Lease, { namespace, name: LEASE });
      const leader = programs.find(({ user }) => user === spec?.holderIdentity);
      if (leader === undefined) return undefined;
      await running.get(leader.user)?.crash();
      startOne(leader);
      return leader.user;
    },
    [Symbol.asyncDispose]: dismiss,
  };
}
