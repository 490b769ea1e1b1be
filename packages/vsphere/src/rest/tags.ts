import { isVimError, VimError } from '../errors.ts';
import { cut, foreignText, refText } from '../foreign-text.ts';
import type { Clock } from '../soap/clock.ts';
import type { CallOptions, MoRef, VCenter } from '../vcenter.ts';
import { action, one, record, strings, textField, unusable } from './answers.ts';
import type { Rest } from './rest.ts';

interface Tag {
  readonly id: string;
  readonly name: string;
  readonly categoryId: string;
}

/** Requests at a time: a vCenter answers a tag in a few milliseconds and has some hundreds. */
const AT_ONCE = 8;
/** More than that are read by nobody, one by one. */
const MAX_TAGS = 20_000;
/** A tag that was renamed to the name that is looked for keeps its id: only reading all anew finds it. */
const ANEW_MS = 10 * 60_000;

/** Tags by REST. */
export function createTags(rest: Rest, clock: Pick<Clock, 'now'>): VCenter['tags'] {
  const known = new KnownTags(rest, clock);
  return {
    named: (name, options = {}) => known.named(name, options),
    attached: (vm, options = {}) => attachedTags(rest, vm, options),
    async attach(vm, tagIds, options = {}) {
      // One by one: the batch call reports a partial failure with status 200 and in prose.
      for (const id of new Set(tagIds)) await attachTag(rest, vm, id, options);
    },
  };
}

/**
 * Tags by name. The server offers no look-up by name: it lists ids, and tells one tag at a time. So the ids are listed each time, which shows what is new and
 * what is gone; a tag is read once, and again where its name is the one that is looked for.
 */
class KnownTags {
  readonly #rest: Rest;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #names = new Map<string, string>();
  #readAll = Number.NEGATIVE_INFINITY;

  constructor(rest: Rest, clock: Pick<Clock, 'now'>) {
    this.#rest = rest;
    this.#clock = clock;
  }

  async named(
    name: string,
    options: CallOptions,
  ): Promise<readonly { readonly id: string; readonly category: string }[]> {
    const rest = this.#rest;
    const ids = strings('tag', await rest.call({ ...options, method: 'GET', path: () => '/cis/tagging/tag' }));
    if (ids.length > MAX_TAGS)
      throw unusable('tag', `has ${ids.length} tags, where ${MAX_TAGS} are the most that are looked through`);
    const there = new Set(ids);
    for (const id of this.#names.keys()) if (!there.has(id)) this.#names.delete(id);
    const now = this.#clock.now();
    if (this.#names.size === 0) this.#readAll = now;
    const unsure = ids.filter((id) => !this.#names.has(id) || this.#names.get(id) === name);
    let found = await this.#read(unsure, name, options);
    if (found.length === 0 && now - this.#readAll >= ANEW_MS) {
      found = await this.#read(ids, name, options);
      this.#readAll = now;
    }
    return Promise.all(
      found.map(async (tag) => ({ id: tag.id, category: await categoryName(rest, tag.categoryId, options) })),
    );
  }

  /** Reads tags; those that bear the name. */
  async #read(ids: readonly string[], name: string, options: CallOptions): Promise<readonly Tag[]> {
    const found: Tag[] = [];
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const tags = await Promise.all(ids.slice(at, at + AT_ONCE).map((id) => readTag(this.#rest, id, options)));
      for (const tag of tags) {
        if (tag === undefined) continue;
        this.#names.set(tag.id, cut(tag.name));
        if (tag.name === name) found.push(tag);
      }
    }
    return found;
  }
}

/** undefined for a tag that was deleted since it was listed. */
async function readTag(rest: Rest, id: string, options: CallOptions): Promise<Tag | undefined> {
  try {
    const value = record('tag', await rest.call({ ...options, method: 'GET', path: one('/cis/tagging/tag', id) }));
    return { id, name: textField(value, 'name'), categoryId: textField(value, 'category_id') };
  } catch (error) {
    if (isVimError(error, 'VIM_NOT_FOUND')) return undefined;
    throw error;
  }
}

async function categoryName(rest: Rest, id: string, options: CallOptions): Promise<string> {
  const value = record(
    'category',
    await rest.call({ ...options, method: 'GET', path: one('/cis/tagging/category', id) }),
  );
  return textField(value, 'name');
}

async function attachedTags(rest: Rest, vm: MoRef, options: CallOptions): Promise<readonly string[]> {
  const path = action('/cis/tagging/tag-association', 'list-attached-tags');
  return strings('tag-association', await rest.call({ ...options, method: 'POST', path, body: () => objectId(vm) }));
}

async function attachTag(rest: Rest, vm: MoRef, id: string, options: CallOptions): Promise<void> {
  const base = one('/cis/tagging/tag-association', id);
  try {
    await rest.call({
      ...options,
      method: 'POST',
      path: (generation) => action(base(generation), 'attach')(generation),
      body: () => objectId(vm),
    });
  } catch (cause) {
    if (!isVimError(cause, 'VIM_NOT_FOUND')) throw cause;
    throw new VimError({
      kind: 'http',
      code: 'VIM_NOT_FOUND',
      op: cause.op,
      message: `the tag ${foreignText(id)} or the object ${refText(vm)} does not exist`,
      cause,
    });
  }
}

function objectId(ref: MoRef): unknown {
  return { object_id: { type: ref.type, id: ref.value } };
}
