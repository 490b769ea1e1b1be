import { createHash, randomUUID } from 'node:crypto';
import { newUuid } from '../inventory.ts';
import {
  ALREADY_EXISTS,
  actionOf,
  answerResource,
  idOf,
  NOT_FOUND,
  ok,
  type RestAnswer,
  type RestCall,
  recordOf,
  textOf,
} from './rest-call.ts';
import type { VCenterWorld } from './vcenter-world.ts';

/** What the inventory does not have of libraries. */
interface LibraryDetails {
  readonly type: string;
  readonly description: string;
}

const details = new WeakMap<VCenterWorld, Map<string, LibraryDetails>>();

function detailsOf(world: VCenterWorld): Map<string, LibraryDetails> {
  const known = details.get(world) ?? new Map<string, LibraryDetails>();
  details.set(world, known);
  return known;
}

/** `/com/vmware/content/library` and `local-library`. */
export function libraries(call: RestCall): RestAnswer {
  const { world } = call.state;
  const { libraries: all, libraryItems } = world.state;
  if (call.method !== 'GET' && idOf(call) === undefined && actionOf(call) === 'find') {
    const name = textOf(recordOf(call.body['spec'])['name']).toLowerCase();
    return ok([...all].filter(([, one]) => name === '' || one.toLowerCase() === name).map(([id]) => id));
  }
  return answerResource(call, {
    list: () => ok([...all.keys()]),
    create: (spec) => {
      const id = randomUUID();
      all.set(id, textOf(spec['name']));
      const type = textOf(spec['type']) || 'LOCAL';
      detailsOf(world).set(id, { type, description: textOf(spec['description']) });
      return ok(id);
    },
    find: (id) => all.get(id),
    get: (name, id) => {
      const { type = 'LOCAL', description = '' } = detailsOf(world).get(id) ?? {};
      return { id, name, type, description, version: '2', storage_backings: [] };
    },
    update: (name, id, spec) => void all.set(id, textOf(spec['name']) || name),
    remove: (_, id) => {
      all.delete(id);
      for (const [item, { library }] of libraryItems) if (library === id) libraryItems.delete(item);
    },
  });
}

/** `/com/vmware/content/library/item/file`. */
export function libraryFiles(call: RestCall): RestAnswer {
  const { libraryItems } = call.state.world.state;
  const item = libraryItems.get(call.query.get('library_item_id') ?? idOf(call) ?? '');
  if (item === undefined) return NOT_FOUND;
  return ok(
    Array.from(item.files, ([name, { bytes, size = bytes.length, checksum }]) => ({
      ...{ name, size, cached: true, version: '1' },
      checksum_info: {
        algorithm: (checksum?.algorithm ?? 'sha1').toUpperCase(),
        checksum: checksum?.sum ?? createHash('sha1').update(bytes).digest('hex'),
      },
    })),
  );
}

/** `/com/vmware/content/library/item`. */
export function libraryItems(call: RestCall): RestAnswer {
  const { state } = call.state.world;
  const { libraries: all, libraryItems: items } = state;
  const idsWhere = (name: string, library: string): RestAnswer =>
    ok(
      [...items]
        .filter(([, item]) => (name === '' || item.name === name) && (library === '' || item.library === library))
        .map(([id]) => id),
    );
  if (call.method !== 'GET' && idOf(call) === undefined && actionOf(call) === 'find') {
    const spec = recordOf(call.body['spec']);
    return idsWhere(textOf(spec['name']), textOf(spec['library_id']));
  }
  return answerResource(call, {
    list: () => {
      const library = call.query.get('library_id') ?? '';
      return all.has(library) ? idsWhere('', library) : NOT_FOUND;
    },
    create: (spec) => {
      const [name, library] = [textOf(spec['name']), textOf(spec['library_id'])];
      if (!all.has(library)) return NOT_FOUND;
      if ([...items.values()].some((item) => item.library === library && item.name === name)) return ALREADY_EXISTS;
      const id = newUuid(state);
      items.set(id, { library, name, files: new Map() });
      return ok(id);
    },
    find: (id) => items.get(id),
    get: ({ name, library, files }, id) => {
      const size = [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
      return { id, name, library_id: library, type: 'ovf', size, cached: true, content_version: '1' };
    },
    remove: (_, id) => void items.delete(id),
  });
}
