import { TemplateError } from './errors.ts';

/** What Drydock reads of an OVF descriptor (DSP0243). */
export interface Descriptor {
  /** Names of the networks that it declares. */
  readonly networks: readonly string[];
  /** `bootOptions.efiSecureBootEnabled` is true in the virtual hardware. */
  readonly secureBoot: boolean;
  /** Files that it refers to. */
  readonly files: readonly { readonly href: string; readonly size?: number }[];
}

/**
 * Reads a descriptor. Only start tags and their attributes matter here; vCenter itself validates the rest.
 * Fails with `OVA_INVALID` on text that is no XML, and on entities that a descriptor never has.
 */
export function readDescriptor(text: string): Descriptor {
  const networks: string[] = [];
  const files: { href: string; size?: number }[] = [];
  let secureBoot = false;
  let inNetworks = false;
  for (const tag of tags(text)) {
    if (tag.name === 'NetworkSection') inNetworks = !tag.end;
    if (tag.end) continue;
    if (tag.name === 'Network' && inNetworks) networks.push(tag.attributes.get('name') ?? '');
    if (tag.name === 'File') {
      const size = tag.attributes.get('size');
      const href = tag.attributes.get('href') ?? '';
      files.push(size === undefined ? { href } : { href, size: Number(size) });
    }
    if (tag.attributes.get('key') === 'bootOptions.efiSecureBootEnabled')
      secureBoot = tag.attributes.get('value') === 'true';
  }
  return { networks, secureBoot, files };
}

interface Tag {
  /** Local name. */
  readonly name: string;
  readonly end: boolean;
  /** By local name, entities decoded. */
  readonly attributes: ReadonlyMap<string, string>;
}

/** Markup that carries no tags, by how it opens and closes. */
const SKIPPED: readonly (readonly [string, string])[] = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
];

function* tags(text: string): Generator<Tag> {
  let at = 0;
  for (;;) {
    const start = text.indexOf('<', at);
    if (start < 0) return;
    const skipped = SKIPPED.find(([opens]) => text.startsWith(opens, start));
    if (skipped !== undefined) {
      const end = text.indexOf(skipped[1], start + skipped[0].length);
      if (end < 0) throw invalid(`${skipped[0]} is not closed`);
      at = end + skipped[1].length;
      continue;
    }
    // A document type could declare entities; no descriptor has one.
    if (text.startsWith('<!', start)) throw invalid('it declares a document type');
    const end = closing(text, start);
    yield readTag(text.slice(start + 1, end));
    at = end + 1;
  }
}

/** Position of the `>` that closes a tag; one inside an attribute value does not. */
function closing(text: string, start: number): number {
  let quote = '';
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at;
  }
  throw invalid('a tag is not closed');
}

const ATTRIBUTE = /([^\s=/]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

function readTag(source: string): Tag {
  const end = source.startsWith('/');
  const name = /^\/?([^\s/>]+)/.exec(source)?.[1] ?? '';
  const attributes = new Map<string, string>();
  for (const [, key = '', double, single] of source.slice(name.length).matchAll(ATTRIBUTE)) {
    attributes.set(local(key), decode(double ?? single ?? ''));
  }
  return { name: local(name), end, attributes };
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

function decode(value: string): string {
  return value.replaceAll(/&(#x[0-9a-fA-F]+|#[0-9]+|[a-z]+);/g, (_, entity: string) => {
    if (entity.startsWith('#x')) return String.fromCodePoint(Number.parseInt(entity.slice(2), 16));
    if (entity.startsWith('#')) return String.fromCodePoint(Number(entity.slice(1)));
    const known = ENTITIES.get(entity);
    if (known === undefined) throw invalid(`it uses the unknown entity &${entity};`);
    return known;
  });
}

function invalid(why: string): TemplateError {
  return new TemplateError({ code: 'OVA_INVALID', message: `the OVF descriptor cannot be read: ${why}` });
}
