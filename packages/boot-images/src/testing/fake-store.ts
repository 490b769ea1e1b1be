import type { GuestState, Placement, PlannedStep, TemplateProgress, TemplateWish } from '@drydock/templates';
import type { ImageStore } from '../vsphere/options.ts';

/** One template of the {@link FakeStore}. */
export interface FakeTemplate {
  readonly version: string | undefined;
  readonly ours?: boolean;
  readonly digest?: string;
  /** What somebody changed about it since it was published. */
  readonly estranged?: string;
  /** The name that it had, where a swap put it away. */
  readonly stableName?: string;
}

/** Templates of one folder in memory. */
export interface FakeStore extends ImageStore {
  collect: ImageStore['collect'];
  readonly templates: Map<string, FakeTemplate>;
  /** `inspect server name`, `publish server base`, `collect server`. */
  readonly calls: string[];
  readonly wishes: TemplateWish[];
  /** What `guest` says of every machine, or throws. */
  guests: GuestState | Error | undefined;
  uploads: number;
  fail: Error | undefined;
  /** Thrown by `inspect`, as for a folder that is not there. */
  failInspect: Error | undefined;
  /** Thrown when half of the bytes are uploaded. */
  failUpload: Error | undefined;
  /** Names that collection removed. */
  readonly removed: string[];
  onPublish: (() => void) | undefined;
  /** Called at the beginning of each step of a publication. */
  onStep: ((step: string) => void) | undefined;
}

/** A store that publishes at once, idempotently by cluster, base and release. */
export function fakeStore(templates: Readonly<Record<string, FakeTemplate>> = {}): FakeStore {
  const store: FakeStore = {
    templates: new Map(Object.entries(templates)),
    calls: [],
    wishes: [],
    guests: undefined,
    guest: async (server) => {
      store.calls.push(`guest ${server}`);
      if (store.guests instanceof Error) throw store.guests;
      return store.guests;
    },
    uploads: 0,
    fail: undefined,
    failInspect: undefined,
    failUpload: undefined,
    removed: [],
    onPublish: undefined,
    onStep: undefined,
    inspect: async (placement: Placement, reference: string) => {
      store.calls.push(`inspect ${placement.server} ${reference}`);
      if (store.failInspect !== undefined) throw store.failInspect;
      const found = store.templates.get(reference.slice(reference.lastIndexOf('/') + 1));
      if (found === undefined) return { kind: 'absent' };
      const { version, ours = false, digest, estranged } = found;
      const known = { ...(digest === undefined ? {} : { digest }), ...(estranged === undefined ? {} : { estranged }) };
      return { kind: 'present', name: reference, version, isTemplate: true, ours, ...known };
    },
    publish: async (wish, options) => {
      store.calls.push(`publish ${wish.placement.server} ${wish.base}`);
      store.wishes.push(wish);
      store.onPublish?.();
      if (store.fail !== undefined) throw store.fail;
      const swap = wish.publication?.kind === 'swap' ? wish.publication : undefined;
      const name = nameFor(wish);
      const before = store.templates.get(name);
      const adopted = isThere(wish, before);
      const at = (progress: TemplateProgress): void => {
        store.onStep?.(progress.step);
        options.onProgress?.(progress);
      };
      // Complete beside the one whose name it takes over, until it does.
      const staged = swap === undefined || before === undefined ? undefined : `${name}-${wish.image.release}-staged`;
      const uploads = !adopted && (staged === undefined || !store.templates.has(staged));
      const made = { version: wish.image.release, ours: true, digest: wish.image.sha256 };
      if (uploads) {
        at({ step: 'Downloading', bytes: 0, total: 100 });
        await options.announce?.({ id: '0123abcd', name, holder: wish.holder, instanceUuid: 'u-1' });
        at({ step: 'Uploading', bytes: 41, total: 100, rate: 2 });
        store.uploads += 1;
        if (store.failUpload !== undefined) throw store.failUpload;
        at({ step: 'Uploading', bytes: 100, total: 100, rate: 2 });
        at({ step: 'Publishing' });
        if (staged !== undefined) store.templates.set(staged, made);
      }
      if (!adopted) {
        if (staged !== undefined) await options.beforeSwap?.(staged);
        if (staged !== undefined) store.templates.delete(staged);
        const retired = store.templates.has(`${name}-retired`)
          ? `${name}-retired-${before?.version}`
          : `${name}-retired`;
        if (before !== undefined) store.templates.set(retired, { ...before, stableName: name });
        store.templates.set(name, made);
      }
      const gap =
        swap === undefined || adopted || before === undefined ? {} : { absentMs: 7, retired: `${name}-retired` };
      return { name, release: wish.image.release, adopted: !uploads, uploads: Number(uploads), ...gap };
    },
    revert: async ({ placement, name, to = '' }, { beforeSwap } = {}) => {
      store.calls.push(`revert ${placement.server} ${name} to ${to}`);
      store.onPublish?.();
      if (store.fail !== undefined) throw store.fail;
      const [current, earlier] = [store.templates.get(name), store.templates.get(to)];
      if (earlier === undefined) throw new Error(`there is no generation ${to}`);
      const retired = `${name}-retired-${current?.version}`;
      await beforeSwap?.(to);
      store.templates.delete(to);
      if (current !== undefined) store.templates.set(retired, { ...current, stableName: name });
      const { stableName: _, ...back } = earlier;
      store.templates.set(name, back);
      return { name, release: earlier.version ?? '', adopted: true, uploads: 0, absentMs: 7, retired };
    },
    collect: async (placement, _cluster, { referenced, needed, only, dryRun = false, keep = 0 }) => {
      store.calls.push(`collect ${placement.server}`);
      const result = [];
      for (const [name, template] of store.templates) {
        if (template.ours !== true) continue;
        const { version: release = '', digest = '', stableName } = template;
        const user =
          referenced(name) ??
          needed?.({ name, release, digest, stableName }, keep) ??
          (only?.(name) === false ? 'not asked for' : undefined);
        if (user === undefined && !dryRun) {
          store.templates.delete(name);
          store.removed.push(name);
        }
        result.push({ name, removed: user === undefined, reason: user ?? 'nobody uses it' });
      }
      return result;
    },
    plan: async (request) => {
      if (request.kind !== 'publish') throw new TypeError(`nobody plans ${request.kind} here`);
      const { server, folder } = request.wish.placement;
      const target = nameFor(request.wish);
      const steps = isThere(request.wish, store.templates.get(target)) ? [] : [importOf(target)];
      return { version: 1, ...request, server, folder, target, steps, world: '' };
    },
    list: async (placement, owner) => {
      store.calls.push(`list ${placement.server}`);
      return [...store.templates].map(([name, { version = '', ours = false, digest, stableName, estranged }]) => ({
        ...{ name, instanceUuid: name, ref: { type: 'VirtualMachine', value: name }, version, isTemplate: true },
        ...(ours ? { release: version, owner } : {}),
        ...(digest === undefined ? {} : { digest }),
        ...(stableName === undefined ? {} : { stableName }),
        ...(estranged === undefined ? {} : { reason: estranged }),
        role:
          estranged !== undefined ? 'tampered' : stableName === undefined ? (ours ? 'current' : 'unmarked') : 'retired',
      }));
    },
  };
  return store;
}

function nameFor({ publication, base, image }: TemplateWish): string {
  return publication?.kind === 'swap' ? publication.name : `${base}-${image.release}-0123abcd`;
}

/** A name of our own says what is under it; one that is taken over does not. */
function isThere({ publication, image }: TemplateWish, found: FakeTemplate | undefined): boolean {
  return publication?.kind === 'swap' ? found?.version === image.release : found !== undefined;
}

function importOf(name: string): PlannedStep {
  return { step: 'import', calls: [`ImportVApp "${name}"`], text: `Import the image as ${name}.` };
}
