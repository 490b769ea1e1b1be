import * as kube from '@drydock/kube';
import { pino } from 'pino';

/** Wants a ConfigMap that greets somebody. */
export interface Greeting extends kube.KubeObject {
  readonly spec?: { readonly name?: string };
  readonly status?: { readonly configMap?: string };
}
type ConfigMap = kube.KubeObject & { readonly data?: Readonly<Record<string, string>> };
const v1 = { group: '', version: 'v1', scope: 'Namespaced' } as const;
export const CONFIG_MAP: kube.Resource<ConfigMap> = { ...v1, kind: 'ConfigMap', plural: 'configmaps' };
export const GREETING: kube.Resource<Greeting> = { ...v1, group: 'example.org', kind: 'Greeting', plural: 'greetings' };

export function runGreetings(client: kube.KubeClient, signal: AbortSignal): Promise<kube.Operator> {
  const log = pino({ level: 'warn' });
  const greetings = kube.createCache({ client, resource: GREETING });
  const configMaps = kube.createCache({ client, resource: CONFIG_MAP, where: { labels: 'example.org/greeting' } });
  const status = kube.statusWriter({ client, resource: GREETING });
  const work = kube.controller({
    name: 'greetings',
    for: greetings,
    watches: [kube.on(configMaps, kube.ownerOf('Greeting'))],
    reconcile: async (key, { signal }) => {
      const greeting = greetings.get(key);
      if (greeting === undefined) return undefined;
      const owner = { apiVersion: 'example.org/v1', kind: 'Greeting', name: key.name, controller: true };
      const ownerReferences = [{ ...owner, uid: greeting.metadata.uid ?? '' }];
      const name = `greeting-${key.name}`;
      const metadata = { ...key, name, labels: { 'example.org/greeting': '' }, ownerReferences };
      const data = { text: `Hello, ${greeting.spec?.name ?? 'world'}!` };
      await client.apply(CONFIG_MAP, { metadata, data }, { manager: 'greetings', force: true }, { signal });
      await status.write(key, () => ({ configMap: name }), { current: greeting, signal });
      return undefined;
    },
  });
  const leader = kube.leaderElection({ client, namespace: 'default', name: 'greetings', log });
  return kube.run({ client, caches: { greetings, configMaps }, controllers: [work], leader, log, signal });
}
