import type { Placement, TemplateStore, TemplateWish } from '@drydock/templates';

/** One template of the {@link FakeStore}. */
export interface FakeTemplate {
  readonly version: string | undefined;
  readonly ours?: boolean;
}

/** Templates of one folder in memory. */
export interface FakeStore extends TemplateStore {
  readonly templates: Map<string, FakeTemplate>;
  /** `inspect server name`, `publish server base`, `collect server`. */
  readonly calls: string[];
  readonly wishes: TemplateWish[];
  uploads: number;
  fail: Error | undefined;
  /** Names that collection removed. */
  readonly removed: string[];
  onPublish: (() => void) | undefined;
}

/** A store that publishes at once, idempotently by cluster, base and release. */
export function fakeStore(templates: Readonly<Record<string, FakeTemplate>> = {}): FakeStore {
  const store: FakeStore = {
    templates: new Map(Object.entries(templates)),
    calls: [],
    wishes: [],
    uploads: 0,
    fail: undefined,
    removed: [],
    onPublish: undefined,
    inspect: async (placement: Placement, reference: string) => {
      store.calls.push(`inspect ${placement.server} ${reference}`);
      const found = store.templates.get(reference.slice(reference.lastIndexOf('/') + 1));
      if (found === undefined) return { kind: 'absent' };
      return { kind: 'present', name: reference, version: found.version, isTemplate: true, ours: found.ours === true };
    },
    publish: async (wish, options) => {
      store.calls.push(`publish ${wish.placement.server} ${wish.base}`);
      store.wishes.push(wish);
      store.onPublish?.();
      if (store.fail !== undefined) throw store.fail;
      const name = `${wish.base}-${wish.image.release}-0123abcd`;
      const adopted = store.templates.has(name);
      if (!adopted) {
        options.onProgress?.({ step: 'Downloading', bytes: 0, total: 100 });
        await options.announce?.({ id: '0123abcd', name, holder: wish.holder, instanceUuid: 'u-1' });
        options.onProgress?.({ step: 'Uploading', bytes: 41, total: 100, rate: 2 });
        options.onProgress?.({ step: 'Publishing' });
        store.uploads += 1;
        store.templates.set(name, { version: wish.image.release, ours: true });
      }
      return { name, release: wish.image.release, adopted, uploads: adopted ? 0 : 1 };
    },
    collect: async (placement, _cluster, { referenced }) => {
      store.calls.push(`collect ${placement.server}`);
      const result = [];
      for (const [name, template] of store.templates) {
        if (template.ours !== true) continue;
        const user = referenced(name);
        if (user === undefined) {
          store.templates.delete(name);
          store.removed.push(name);
        }
        result.push({ name, removed: user === undefined, reason: user ?? 'nobody uses it' });
      }
      return result;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return store;
}
