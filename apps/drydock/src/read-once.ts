import { type CallOptions, type Client, type Key, type KubeObject, keyText, type Resource } from '@drydock/kube';
import type { TemplateStore } from '@drydock/templates';

/** A client of which an object is asked for once, whoever asks. For one look at a cluster: what was absent, or could not be read, stays so. */
export function readingOnce(client: Pick<Client, 'get'>): Pick<Client, 'get'> {
  const known = new Map<string, Promise<KubeObject>>();
  return {
    get: <T extends KubeObject>(resource: Resource<T>, key: Key, call?: CallOptions) =>
      once(known, `${resource.plural}.${resource.group} ${keyText(key)}`, () =>
        client.get(resource, key, call),
      ) as Promise<T>,
  };
}

/** The same of templates: sets that start from one template have one answer. */
export function inspectingOnce(store: TemplateStore): TemplateStore {
  const known = new Map<string, ReturnType<TemplateStore['inspect']>>();
  return {
    ...store,
    inspect: (placement, reference, call) =>
      once(known, JSON.stringify([placement, reference]), () => store.inspect(placement, reference, call)),
  };
}

function once<T>(known: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const answer = known.get(key) ?? ask();
  known.set(key, answer);
  return answer;
}
