import { readYamlDocument, YamlFlaw } from '@drydock/api/yaml';
import { isObject, type Json, type JsonObject } from '@drydock/crd';
import { ReleaseError } from '../errors.ts';
import { documentsIn, type TextDocument } from './documents.ts';
import { type FilePlace, placeOfFile } from './file-name.ts';

/** Which object a manifest is about. */
export interface ObjectId {
  /** '' for the core group. */
  readonly group: string;
  readonly kind: string;
  /** '' where it has none. */
  readonly namespace: string;
  readonly name: string;
}

/** One object of a payload, as its file has it. */
export interface Manifest {
  /** Path within the payload, `release-manifests/0000_10_x_crd.yaml`. */
  readonly file: string;
  /** Where the document begins in it, from 1. */
  readonly line: number;
  /** undefined where the file's name says none: a barrier. */
  readonly place: FilePlace | undefined;
  readonly id: ObjectId;
  readonly version: string;
  readonly object: JsonObject;
  readonly annotations: Readonly<Record<string, string>>;
}

/** No object of etcd is larger than 1.5 MiB; a List may hold some. */
const MAX_DOCUMENT = 8 << 20;

/** All objects of one file, those of Lists included. Throws `ReleaseError` with file and line. */
export function readManifestFile(file: string, text: string): readonly Manifest[] {
  const place = placeOfFile(file.slice(file.lastIndexOf('/') + 1));
  return documentsIn(text).flatMap((document) =>
    objectsOf(file, document).map((object) => manifestOf(file, document.line, place, object)),
  );
}

/** `Deployment openshift-x/y` as people say it. */
export function idText({ group, kind, namespace, name }: ObjectId): string {
  return `${group === '' ? kind : `${kind}.${group}`} ${namespace === '' ? name : `${namespace}/${name}`}`;
}

/** An attempt asks for each a dozen times. */
const keys = new WeakMap<ObjectId, string>();

/** The same for the same object, whatever version of its group it is written in. */
export function idKey(id: ObjectId): string {
  const known = keys.get(id);
  if (known !== undefined) return known;
  const { group, kind, namespace, name } = id;
  const key = JSON.stringify([group, kind, namespace, name]);
  keys.set(id, key);
  return key;
}

/** `FILE:LINE`. */
export function whereOf({ file, line }: Pick<Manifest, 'file' | 'line'>): string {
  return `${file}:${line}`;
}

function objectsOf(file: string, { text, line }: TextDocument): readonly JsonObject[] {
  let value: Json | undefined;
  try {
    value = readYamlDocument(text, { maxBytes: MAX_DOCUMENT, exact: true }) as Json | undefined;
  } catch (error) {
    if (!(error instanceof YamlFlaw)) throw error;
    const code = error.tooLarge ? 'TOO_LARGE' : 'UNREADABLE';
    throw new ReleaseError(code, `${file} cannot be read: ${moved(error.message, line)}`);
  }
  if (value === undefined) return [];
  if (!isObject(value)) throw new ReleaseError('UNREADABLE', `${file}:${line} is no object`);
  const { kind, items } = value;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [value];
  return items.map((item: Json, at) => {
    if (isObject(item)) return item;
    throw new ReleaseError('UNREADABLE', `${file}:${line}: item ${at} of the ${kind} is no object`);
  });
}

/** A flaw's line counts from the document's first one. */
function moved(message: string, line: number): string {
  return message.replace(/ in line (\d+)$/, (_all, of: string) => ` in line ${Number(of) + line - 1}`);
}

function manifestOf(file: string, line: number, place: FilePlace | undefined, object: JsonObject): Manifest {
  const bad = (what: string): never => {
    throw new ReleaseError('UNREADABLE', `${file}:${line}: ${what}`);
  };
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || apiVersion === '' || kind === '')
    return bad('an object without apiVersion or kind');
  const { name, namespace = '', annotations = {} } = isObject(metadata) ? metadata : {};
  if (typeof name !== 'string' || name === '' || typeof namespace !== 'string') return bad(`a ${kind} without a name`);
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
  return {
    ...{ file, line, place, object },
    id: { group: group ?? '', kind, namespace, name },
    version: version ?? '',
    annotations: textsOf(annotations, (what) => bad(`${kind} ${name}: ${what}`)),
  };
}

function textsOf(annotations: Json, bad: (what: string) => never): Readonly<Record<string, string>> {
  if (annotations === null) return {};
  if (!isObject(annotations)) return bad('its annotations are no object');
  const [wrong] = Object.entries(annotations).find(([, value]) => typeof value !== 'string') ?? [];
  if (wrong !== undefined) bad(`the value of its annotation ${wrong} is no text: put it in quotes`);
  return annotations as Readonly<Record<string, string>>;
}
