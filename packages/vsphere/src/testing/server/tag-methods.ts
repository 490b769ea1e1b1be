import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { keyRef } from '../inventory.ts';
import {
  ALREADY_EXISTS,
  actionOf,
  answerResource,
  idOf,
  listOf,
  NOT_ALLOWED,
  NOT_FOUND,
  OK,
  ok,
  type RestAnswer,
  type RestCall,
  recordOf,
  textOf,
} from './rest-call.ts';
import { attachedTo, ensureCategory, ensureTag, removeTag, setTag, tagStoreOf } from './tag-inventory.ts';

interface RestRef {
  readonly type: string;
  readonly id: string;
}

const fromRest = (value: unknown): MoRef => {
  const { type, id } = recordOf(value);
  return { type: textOf(type), value: textOf(id) };
};
const toRest = ({ type, value: id }: MoRef): RestRef => ({ type, id });
const keyToRest = (key: string): RestRef => toRest(keyRef(key));

/** `/com/vmware/cis/tagging/category`. */
export function tagCategories(call: RestCall): RestAnswer {
  const { world } = call.state;
  const { tags } = world.state;
  const { categories } = tagStoreOf(world);
  return answerResource(call, {
    list: () => ok([...categories.keys()]),
    create: (spec) => {
      const name = textOf(spec['name']);
      if ([...categories.values()].some((one) => one.name === name)) return ALREADY_EXISTS;
      const id = ensureCategory(world, name);
      categories.set(id, {
        ...{ name, description: textOf(spec['description']), cardinality: textOf(spec['cardinality']) || 'MULTIPLE' },
        associable_types: listOf(spec['associable_types']).map(textOf),
      });
      return ok(id);
    },
    find: (id) => categories.get(id),
    get: (category, id) => ({ id, ...category, used_by: [] }),
    update: (category, _, spec) => {
      const before = category.name;
      category.name = textOf(spec['name']) || before;
      if (typeof spec['description'] === 'string') category.description = spec['description'];
      for (const [id, tag] of tags) if (tag.category === before) tags.set(id, { ...tag, category: category.name });
    },
    remove: ({ name }, id) => {
      categories.delete(id);
      for (const [tag, { category }] of tags) if (category === name) removeTag(world, tag);
    },
  });
}

/** `/com/vmware/cis/tagging/tag`. */
export function tags(call: RestCall): RestAnswer {
  const { world } = call.state;
  const { categories, descriptions } = tagStoreOf(world);
  const all = world.state.tags;
  const id = idOf(call);
  if (id !== undefined && actionOf(call) === 'list-tags-for-category') {
    const name = categories.get(id)?.name;
    return ok([...all].filter(([, tag]) => tag.category === name).map(([tag]) => tag));
  }
  return answerResource(call, {
    list: () => ok([...all.keys()]),
    create: (spec) => {
      const category = categories.get(textOf(spec['category_id']))?.name;
      if (category === undefined) return NOT_FOUND;
      const name = textOf(spec['name']);
      if ([...all.values()].some((tag) => tag.name === name && tag.category === category)) return ALREADY_EXISTS;
      const made = ensureTag(world, category, name);
      descriptions.set(made, textOf(spec['description']));
      return ok(made);
    },
    find: (tag) => all.get(tag),
    get: ({ name, category }, tag) => ({
      ...{ id: tag, name, description: descriptions.get(tag) ?? '' },
      ...{ category_id: ensureCategory(world, category), used_by: [] },
    }),
    update: (tag, key, spec) => {
      if (textOf(spec['name']) !== '') all.set(key, { ...tag, name: textOf(spec['name']) });
      if (typeof spec['description'] === 'string') descriptions.set(key, spec['description']);
    },
    remove: (_, tag) => removeTag(world, tag),
  });
}

/** `/com/vmware/cis/tagging/tag-association`. */
export function tagAssociations(call: RestCall): RestAnswer {
  if (call.method !== 'POST') return NOT_ALLOWED;
  const tag = idOf(call);
  return tag === undefined ? associationsOfObjects(call) : associationsOfTag(call, tag);
}

function associationsOfTag(call: RestCall, tag: string): RestAnswer {
  const { world } = call.state;
  if (!world.state.tags.has(tag)) return NOT_FOUND;
  const action = actionOf(call);
  switch (action) {
    case 'list-attached-objects':
      return ok(attachedTo(world, tag).map(keyToRest));
    case 'attach-tag-to-multiple-objects':
      for (const object of listOf(call.body['object_ids'])) setTag(world, tag, fromRest(object), true);
      return ok({ success: true });
    case 'attach':
    case 'detach':
      setTag(world, tag, fromRest(call.body['object_id']), action === 'attach');
      return OK;
    default:
      return NOT_FOUND;
  }
}

function associationsOfObjects(call: RestCall): RestAnswer {
  const { world } = call.state;
  const known = world.state.tags;
  const tagsOf = (ref: MoRef): readonly string[] =>
    [...known.keys()].filter((tag) => attachedTo(world, tag).includes(refKey(ref)));
  const object = fromRest(call.body['object_id']);
  const tagIds = listOf(call.body['tag_ids']).map(textOf);
  const action = actionOf(call);
  switch (action) {
    case 'list-attached-tags':
      return ok(tagsOf(object));
    case 'list-attached-objects-on-tags':
      return ok(tagIds.map((tag) => ({ tag_id: tag, object_ids: attachedTo(world, tag).map(keyToRest) })));
    case 'list-attached-tags-on-objects': {
      const objects = listOf(call.body['object_ids']).map(fromRest);
      return ok(objects.map((ref) => ({ object_id: toRest(ref), tag_ids: tagsOf(ref) })));
    }
    case 'attach-multiple-tags-to-object':
    case 'detach-multiple-tags-from-object': {
      for (const tag of tagIds) if (known.has(tag)) setTag(world, tag, object, action.startsWith('attach'));
      const errors = tagIds
        .filter((tag) => !known.has(tag))
        .map((tag) => ({
          id: 'cis.tagging.objectNotFound.error',
          default_message: `Tagging object ${tag} not found`,
          args: [],
        }));
      return ok({ success: errors.length === 0, ...(errors.length === 0 ? {} : { error_messages: errors }) });
    }
    default:
      return NOT_FOUND;
  }
}
