import { readYaml, YamlFlaw } from '@drydock/api/yaml';
import { CrdError } from '../errors.ts';
import { isList, isObject, type Json, type JsonObject, jsonText, textOf } from './json.ts';

/** What a document, or an item of a List, may cost. The largest real CRD has 2 MB. */
const MAX_BYTES = 8 << 20;
/** What many documents may cost in one text, and many items in one List: all definitions of a large cluster have 30 MB. */
const MAX_TEXT = 256 << 20;
const MAX_LIST = 64 << 20;

/** All objects of a YAML or JSON text, those of Lists included. Throws `CrdError`, also for a document that is no object: nobody knows what it should have been. */
export function readManifests(text: string, source: string): readonly JsonObject[] {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TEXT) throw new CrdError('TOO_LARGE', `${source} has more than ${MAX_TEXT} bytes`);
  const parts = bytes > MAX_BYTES ? text.split(/^---(?=\s|$)/m) : [text];
  return parts.flatMap((part) => readPart(part, source));
}

function readPart(text: string, source: string): readonly JsonObject[] {
  const bytes = Buffer.byteLength(text);
  const most = bytes > MAX_BYTES && isListText(text) ? MAX_LIST : MAX_BYTES;
  if (bytes > most) throw tooLarge(source, most);
  const objects = documentsOf(text, source, most)
    .flatMap((value) =>
      isObject(value) && isList(value['items']) && textOf(value['kind']).endsWith('List') ? value['items'] : [value],
    )
    // Nothing between two marks, or in a List, is nothing.
    .filter((value) => value !== null && value !== undefined);
  for (const object of objects) {
    if (bytes > MAX_BYTES && Buffer.byteLength(jsonText(object)) > MAX_BYTES) throw tooLarge(source, MAX_BYTES);
    if (!isObject(object)) {
      const what = isList(object) ? 'a list' : typeof object === 'string' ? 'a text' : 'a single value';
      throw new CrdError('UNREADABLE', `${source} has a document that is ${what} and no object`);
    }
  }
  return objects.filter(isObject);
}

/** Whether a document says of itself that it holds others: what is as large and is none costs nothing more. */
function isListText(text: string): boolean {
  return /^kind: ["']?\w*List["']?\s*$/m.test(text) || /"kind":\s*"\w*List"/.test(text);
}

function tooLarge(source: string, most: number): CrdError {
  return new CrdError('TOO_LARGE', `${source} has a document of more than ${most} bytes`);
}

function documentsOf(text: string, source: string, maxBytes: number): readonly Json[] {
  try {
    return readYaml(text, { maxBytes, exact: true }) as readonly Json[];
  } catch (error) {
    if (!(error instanceof YamlFlaw)) throw error;
    if (error.tooLarge) throw new CrdError('TOO_LARGE', `${source} cannot be read: ${error.message}`);
    throw new CrdError('UNREADABLE', `${source} cannot be read: ${error.message}`);
  }
}
