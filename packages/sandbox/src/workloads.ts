import { join } from 'node:path';
import { request } from 'undici';
import type { Api } from './api.ts';
import { binaryPath } from './build.ts';
import type { ApiServerEra } from './era.ts';
import { SandboxError } from './errors.ts';
import { defineServer, type OwnedServer, type Server } from './server-process.ts';
import type { WorkDirectory } from './workdir.ts';

/** What makes pods in a sandbox. */
export interface WorkloadsOptions {
  /** How many nodes; 3 by default. */
  readonly nodes?: number;
}

/**
 * How a pod gets on. Well (`''`): it runs and is ready, that of a Job succeeds. `hang`: it runs for ever, and stays when it is deleted.
 * A pod's annotation `sandbox.drydock.dev/pod` says the same, with `sandbox.drydock.dev/after: 2s` from when on; a rule wins over it.
 */
export type PodBehaviour = '' | 'never-ready' | 'crash-loop' | 'image-pull' | 'hang' | 'fail' | 'complete';

/** How some pods get on; what is absent means all. The first rule that names a pod decides. */
export interface PodRule {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** A part of the image of one of its containers. */
  readonly image?: string;
  readonly pod: PodBehaviour;
  /** Since the pod was created; until then all is well. */
  readonly afterMs?: number;
}

/** Controllers, a scheduler, and a kubelet that runs nothing: upstream's, or the simulator of the embedded API server, which has no processes of its own. */
export interface Workloads {
  readonly controllers: Server;
  readonly scheduler: Server;
  readonly kubelet: Server;
  /** Replaces all rules; pods that run already follow them, too. A restart of the kubelet forgets them. */
  rules(rules: readonly PodRule[]): Promise<void>;
}

/** The servers of workloads, defined but not started. */
export interface WorkloadServers extends Workloads {
  readonly owned: readonly OwnedServer[];
  start(options: { readonly signal?: AbortSignal }): Promise<void>;
}

/** What workloads are made of. */
export interface WorkloadsSpec {
  readonly directory: WorkDirectory;
  readonly api: Api;
  /** Of an administrator. */
  readonly kubeconfig: string;
  /** Key of the tokens of ServiceAccounts. */
  readonly signingKey: string;
  readonly options: WorkloadsOptions;
  /** Of the API server, at the next start. */
  readonly era: () => ApiServerEra;
}

interface Condition {
  readonly type: string;
  readonly status: string;
}
interface NodeList {
  readonly items?: readonly {
    readonly spec?: { readonly taints?: readonly unknown[] };
    readonly status?: { readonly conditions?: readonly Condition[] };
  }[];
}

/** How many nodes are wanted. */
export function nodesOf({ nodes = 3 }: WorkloadsOptions): number {
  if (Number.isSafeInteger(nodes) && nodes >= 1 && nodes <= 500) return nodes;
  throw new SandboxError('BadInput', `workloads.nodes is ${nodes}: name a number from 1 to 500.`);
}

/** Defines them; the API server must answer before they start. */
export function defineWorkloads({
  directory,
  api,
  kubeconfig,
  signingKey,
  options,
  era,
}: WorkloadsSpec): WorkloadServers {
  const nodes = nodesOf(options);
  const common = { directory };
  const command = (role: string, flags: () => readonly string[]) => () => ({
    binary: binaryPath('drydock-workloads'),
    args: [role, `--kubeconfig=${kubeconfig}`, ...flags()],
  });
  // Else they wait for ever for kinds that a server of 1.32 does not have.
  const alone = (): readonly string[] => [
    ...['--leader-elect=false', '--secure-port=0'],
    ...(era() === 'E2' ? [] : ['--emulated-version=1.32']),
  ];
  const answers = async (path: string, signal: AbortSignal): Promise<boolean> =>
    (await api.call('GET', path, { signal })).status === 200;
  const controllers = defineServer({
    ...{ ...common, name: 'kube-controller-manager' },
    command: command('kube-controller-manager', () => [
      ...alone(),
      `--service-account-private-key-file=${signingKey}`,
      `--root-ca-file=${join(directory.path, 'ca.crt')}`,
    ]),
    // Without it no pod is admitted to the namespace: the controllers are at work once it is there.
    ready: (_line, signal) => answers('/api/v1/namespaces/default/serviceaccounts/default', signal),
  });
  const scheduler = defineServer({
    ...{ ...common, name: 'kube-scheduler' },
    command: command('kube-scheduler', alone),
    // It has no port to be asked at; a pod waits until it is there.
    ready: async () => true,
  });
  let address: string | undefined;
  const kubelet = defineServer({
    ...{ ...common, name: 'kubelet' },
    command: command('kubelet', () => [`--nodes=${nodes}`]),
    ready: async (line, signal) => {
      if (line === undefined) return false;
      address = (JSON.parse(line) as { readonly kubelet: string }).kubelet;
      const { items = [] } = (await api.call('GET', '/api/v1/nodes', { signal })).body as NodeList;
      const open = items.filter(
        ({ spec, status }) =>
          (spec?.taints ?? []).length === 0 &&
          status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'),
      );
      return open.length >= nodes;
    },
  });
  return {
    ...{ controllers, scheduler, kubelet, owned: [controllers, scheduler, kubelet] },
    start: async (how) => {
      // Who takes the taint of a new node away are the controllers.
      await Promise.all([controllers.start(how), scheduler.start(how), kubelet.start(how)]);
    },
    rules: async (rules) => {
      if (address === undefined)
        throw new SandboxError('BadInput', 'The kubelet has not been started: start it before its rules are set.');
      const answer = await request(`${address}/rules`, {
        ...{ method: 'PUT', reset: true },
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(rules),
      });
      const said = await answer.body.text();
      if (answer.statusCode !== 200)
        throw new SandboxError('BadInput', `The kubelet refuses the rules: ${said.trim()}.`);
    },
  };
}
