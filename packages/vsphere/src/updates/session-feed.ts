import { isVimError } from '../errors.ts';
import { viewed } from '../inventory/estate.ts';
import type { SessionCaller } from '../session/caller.ts';
import type { ObjectContent } from '../soap/call.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import { textOf } from '../xml/xml.ts';
import type { UpdateFeed } from './feed.ts';
import { openWatch } from './property-watch.ts';

/** Containers that are read at a time. */
const READERS = 4;

/** The changes of a vCenter, in the session of `caller`. */
export function sessionFeed(caller: SessionCaller): UpdateFeed {
  /** One that this user may not see fails the question for all: then each is asked for by itself. */
  const seen = async (refs: readonly MoRef[], type: string, options?: CallOptions): Promise<readonly MoRef[]> => {
    try {
      // Every managed entity has a name.
      return (await caller.retrieve(refs, type, ['name'], options)).map(({ ref }) => ref);
    } catch (error) {
      if (!isVimError(error, 'VIM_NO_PERMISSION')) throw error;
      if (refs.length === 1) return [];
      const half = refs.length >> 1;
      return [...(await seen(refs.slice(0, half), type, options)), ...(await seen(refs.slice(half), type, options))];
    }
  };
  const existing: UpdateFeed['existing'] = async (refs, options) => {
    const found: MoRef[] = [];
    for (const type of new Set(refs.map((ref) => ref.type))) {
      const wanted = refs.filter((ref) => ref.type === type);
      found.push(...(await seen(wanted, type, options)));
    }
    return found;
  };
  return {
    server: caller.server,
    instanceUuid: async (options) => (await caller.content(options)).about.instanceUuid,
    watch: (spec, options) => openWatch(caller, spec, options),
    existing,
    async property(ref, path, options) {
      const [found] = await caller.retrieve([ref], ref.type, [path], options);
      return found?.values.get(path);
    },
    async survey(containers, path, options) {
      const values = new Map<string, string>();
      const what = { type: 'VirtualMachine', paths: [path] };
      const keep = ({ ref, values: read }: ObjectContent): void => {
        const value = read.get(path);
        values.set(ref.value, value === undefined ? '' : textOf(value));
      };
      const read = async (container: MoRef): Promise<void> => {
        await viewed(caller, container, [what.type], what, keep, options);
      };
      const left = (await existing(containers, options)).values();
      // Each reader takes the next one: there are as many containers as zones.
      await Promise.all(
        Array.from({ length: READERS }, async () => {
          for (const container of left) await read(container);
        }),
      );
      return values;
    },
  };
}
