import type { Api } from '../api.ts';
import { needsRealServers } from '../backend.ts';
import { SandboxError } from '../errors.ts';
import type { OwnedServer } from '../server-process.ts';
import type { PodBehaviour, WorkloadServers } from '../workloads.ts';
import { RULES } from './workloads/simulated-pods.ts';

const BEHAVIOURS: readonly PodBehaviour[] = ['', 'never-ready', 'crash-loop', 'image-pull', 'hang', 'fail', 'complete'];

/** The simulator is part of the API server: nothing of it can be stopped by itself. */
function noServer(name: string): OwnedServer {
  const refuse = async (): Promise<never> => {
    throw needsRealServers(`process of its own for ${name}`);
  };
  return { name, pid: undefined, kill: refuse, start: refuse, restart: refuse, killNow: () => undefined };
}

/** The simulated workloads of an embedded API server, which starts them itself. */
export function defineEmbeddedWorkloads(api: Api): WorkloadServers {
  const path = `/api/v1/namespaces/${RULES.namespace}/configmaps`;
  return {
    controllers: noServer('kube-controller-manager'),
    scheduler: noServer('kube-scheduler'),
    kubelet: noServer('kubelet'),
    owned: [],
    start: async () => undefined,
    rules: async (rules) => {
      for (const { pod, afterMs } of rules) {
        if (!BEHAVIOURS.includes(pod)) {
          const known = BEHAVIOURS.filter((one) => one !== '').join(', ');
          throw new SandboxError('BadInput', `a pod cannot be ${JSON.stringify(pod)}: name one of ${known}.`);
        }
        if (afterMs !== undefined && afterMs > 0) throw needsRealServers('afterMs in rules of pods');
      }
      const body = {
        ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: RULES },
        data: { rules: JSON.stringify(rules) },
      };
      const type = 'application/merge-patch+json';
      const patched = await api.call('PATCH', `${path}/${RULES.name}`, { body, type });
      const { status } = patched.status === 404 ? await api.call('POST', path, { body }) : patched;
      if (status >= 300) throw new SandboxError('BadInput', `The rules of pods could not be stored (${status}).`);
    },
  };
}
