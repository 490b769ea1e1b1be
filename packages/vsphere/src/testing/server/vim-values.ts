import type { MoRef } from '../../vcenter.ts';
import { childText, elements, referenceOf, textOf, VIM_NS, type XmlElement, XSD_NS, XSI_NS } from '../../xml/xml.ts';
import { escapeText } from '../../xml/xml-characters.ts';
import { parseXml } from '../../xml/xml-tree.ts';

/** A whole `<val>` element as the server sends it. */
export type Val = string;

/** Text of a type that the value itself does not show: `xsd:long`, an enumeration. */
export interface Scalar {
  readonly scalar: string;
  readonly text: string;
}

/** A data object. Its fields may be getters, so that only what is read is computed. '' as type: not said. */
export interface Data {
  readonly data: string;
  readonly fields: Readonly<Record<string, Value | undefined>>;
}

/** `ArrayOf<list>`; as a field its items repeat the field's name. */
export interface List {
  readonly list: string;
  readonly items: readonly Value[];
}

/** A value whose type is said wherever it stands, because the schema says `any` there. */
export interface Any {
  readonly any: Value;
}

/** The value of a property. A number is an `xsd:int`, a string an `xsd:string`. Plain data: it survives structuredClone. */
export type Value = string | number | boolean | MoRef | Scalar | Data | List | Any;

/** A data object. */
export const data = (type: string, fields: Data['fields']): Data => ({ data: type, fields });
/** Values of one type. */
export const list = (of: string, items: readonly Value[]): List => ({ list: of, items });
/** References. */
export const refs = (items: readonly MoRef[]): List => list('ManagedObjectReference', items);
/** Bytes and the like. */
export const long = (value: number): Scalar => ({ scalar: 'xsd:long', text: String(value) });
/** A point in time. */
export const dateTime = (at: Date): Scalar => ({ scalar: 'xsd:dateTime', text: at.toISOString() });
/** A member of an enumeration. */
export const oneOf = (type: string, text: string): Scalar => ({ scalar: type, text });

/** `<name>` of a value. `typed`: its type is said, as in `<val>`. */
export function render(name: string, value: Value, typed = false): string {
  if (typeof value === 'string') return plain(name, 'xsd:string', escapeText(value), typed);
  if (typeof value === 'number') return plain(name, 'xsd:int', String(value), typed);
  if (typeof value === 'boolean') return plain(name, 'xsd:boolean', String(value), typed);
  if ('any' in value) return render(name, value.any, true);
  if ('scalar' in value) return plain(name, value.scalar, escapeText(value.text), typed);
  if ('list' in value) {
    if (!typed) return value.items.map((item) => render(name, item)).join('');
    const [first = ''] = value.list;
    const items = value.items.map((item) => render(value.list, item)).join('');
    return `<${name} xsi:type="ArrayOf${first.toUpperCase()}${value.list.slice(1)}">${items}</${name}>`;
  }
  if ('data' in value) {
    let inner = '';
    for (const field in value.fields) {
      const of = value.fields[field];
      if (of !== undefined) inner += render(field, of);
    }
    return value.data === '' ? `<${name}>${inner}</${name}>` : `<${name} xsi:type="${value.data}">${inner}</${name}>`;
  }
  const type = typed ? ' xsi:type="ManagedObjectReference"' : '';
  return `<${name} type="${escapeText(value.type)}"${type}>${escapeText(value.value)}</${name}>`;
}

function plain(name: string, type: string, text: string, typed: boolean): string {
  return typed ? `<${name} xsi:type="${type}">${text}</${name}>` : `<${name}>${text}</${name}>`;
}

/** `<val>` of a value. */
export const val = (value: Value): Val => render('val', value, true);

/** Text under a type; `xsd:string` unless said. */
export const textVal = (text: string, type = 'xsd:string'): Val => val({ scalar: type, text });

/** A reference to a managed object. */
export const refVal = (type: string, value: string): Val => val({ type, value });

/** `config.extraConfig` of a machine. */
export function optionValues(options: Iterable<readonly [string, string]>): List {
  return list(
    'OptionValue',
    Array.from(options, ([key, value]) => data('OptionValue', { key, value: { any: value } })),
  );
}

/** `config.extraConfig` as sent. */
export const optionsVal = (options: Readonly<Record<string, string>>): Val =>
  val(optionValues(Object.entries(options)));

/** `config.hardware.device`: each device by its key, its type and what is inside. */
export function devicesVal(devices: readonly (readonly [key: number, type: string, label: string])[]): Val {
  const items = devices.map(([key, type, label]) =>
    data(type, { key, deviceInfo: data('', { label, summary: `${label} of this machine` }) }),
  );
  return val(list('VirtualDevice', items));
}

/** The one option of an `optionsVal` with this key, as a keyed path answers it. */
export function keyedVal(options: Val, key: string): Val | undefined {
  const head = `<OptionValue xsi:type="OptionValue"><key>${escapeText(key)}</key>`;
  const from = options.indexOf(head);
  if (from < 0) return undefined;
  const inner = options.slice(options.indexOf('<key>', from), options.indexOf('</OptionValue>', from));
  return `<val xsi:type="OptionValue">${inner}</val>`;
}

/** A step of a property path: a field, and the key of one of its items. */
interface Step {
  readonly field: string;
  readonly key?: string;
}

const STEP = /([^.[\]]+)(?:\["?(.*?)"?\])?(?:\.|$)/gy;

const knownSteps = new Map<string, readonly Step[]>();
/** Clients ask for the same paths again and again; whoever makes up ever new ones must not fill the memory. */
const MOST_KNOWN = 1000;

/** `config.extraConfig["a.b"]` in steps. */
export function stepsOf(path: string): readonly Step[] {
  const known = knownSteps.get(path);
  if (known !== undefined) return known;
  const steps = Array.from(path.matchAll(STEP), ([, field = '', key]) =>
    key === undefined ? { field } : { field, key },
  );
  if (knownSteps.size >= MOST_KNOWN) knownSteps.clear();
  knownSteps.set(path, steps);
  return steps;
}

/** What is there behind some steps; undefined: nothing. */
export function valueAt(from: Value | undefined, steps: readonly Step[]): Value | undefined {
  let at = from;
  for (const [index, { field, key }] of steps.entries()) {
    if (index > 0) at = fieldOf(at, field);
    if (key !== undefined && at !== undefined)
      at = itemsOf(at).find((item) => textAt(item, 'key') === key || (isRef(item) && item.value === key));
    if (at === undefined) return undefined;
  }
  return at;
}

/** A field of a data object. */
export function fieldOf(of: Value | undefined, field: string): Value | undefined {
  return typeof of === 'object' && 'data' in of ? of.fields[field] : undefined;
}

/** The text of a field; undefined where there is none. */
export function textAt(of: Value | undefined, field: string): string | undefined {
  return textOfValue(fieldOf(of, field));
}

/** A simple value as text. */
export function textOfValue(value: Value | undefined): string | undefined {
  if (typeof value !== 'object') return value === undefined ? undefined : String(value);
  if ('any' in value) return textOfValue(value.any);
  if ('scalar' in value) return value.text;
  return isRef(value) ? value.value : undefined;
}

/** The items of a list; one value alone is a list of one, as a field that came over the wire. */
export function itemsOf(value: Value | undefined): readonly Value[] {
  if (value === undefined) return [];
  return typeof value === 'object' && 'list' in value ? value.items : [value];
}

/** Whether a value is a reference. */
export function isRef(value: Value | undefined): value is MoRef {
  return typeof value === 'object' && 'value' in value && 'type' in value;
}

/** Reads what came over the wire: texts, references, data objects with their types as said, repeated fields as lists. */
export function readValue(xml: XmlElement): Value {
  const children = elements(xml);
  const ref = referenceOf(xml);
  if (ref !== undefined && children.length === 0) return ref;
  if (children.length === 0) {
    const text = textOf(xml);
    if (xml.type === undefined) return text;
    return xml.type.uri === XSD_NS ? { any: { scalar: `xsd:${xml.type.local}`, text } } : data(xml.type.local, {});
  }
  const fields: Record<string, Value> = {};
  for (const child of children) {
    const known = fields[child.name];
    const value = readValue(child);
    fields[child.name] = known === undefined ? value : list('', [...itemsOf(known), value]);
  }
  return data(xml.type?.local ?? '', fields);
}

/** The options of a spec: `extraConfig` elements with key and value. */
export function readOptions(spec: XmlElement | undefined): readonly (readonly [string, string])[] {
  return elements(spec, 'extraConfig').map((one) => [childText(one, 'key') ?? '', childText(one, 'value') ?? '']);
}

/** A data object as a client would send it. */
export function specXml(name: string, fields: Data['fields']): XmlElement {
  return parseXml(
    render(name, data('', fields)).replace('>', ` xmlns="${VIM_NS}" xmlns:xsi="${XSI_NS}" xmlns:xsd="${XSD_NS}">`),
  );
}
