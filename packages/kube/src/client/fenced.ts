import type { ChangeOptions, Client } from './client.ts';

/**
 * The same client, whose writes ask `fence` right before each request. A resourceVersion does not stop a process that has lost its Lease: a writer that meets a conflict reads the object again, and
 * would then overwrite what the new holder wrote. Give it `leader.assertHeld`, and use it for all that the holder alone may write.
 */
export function fencedClient<T extends Client>(client: T, fence: () => void): T {
  const asking = <O extends ChangeOptions>(options: O | undefined): O => ({ ...options, fence }) as O;
  const writes: Omit<Client, 'get' | 'list'> = {
    create: (resource, object, options) => client.create(resource, object, asking(options)),
    replace: (resource, object, options) => client.replace(resource, object, asking(options)),
    replaceStatus: (resource, object, options) => client.replaceStatus(resource, object, asking(options)),
    apply: (resource, want, as, options) => client.apply(resource, want, as, asking(options)),
    applyStatus: (resource, want, as, options) => client.applyStatus(resource, want, as, asking(options)),
    patch: (resource, key, ops, options) => client.patch(resource, key, ops, asking(options)),
    mergePatch: (resource, key, patch, options) => client.mergePatch(resource, key, patch, asking(options)),
    delete: (resource, key, when, options) => client.delete(resource, key, when, asking(options)),
  };
  return { ...client, ...writes };
}
