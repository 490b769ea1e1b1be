import {
  dns1035LabelProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from '@drydock/kube/testing/api-server';
import { List, Opaque, Optional } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';
import { parseUrl } from './url-functions.ts';

type Format = (text: string) => boolean;

const valid =
  (problems: (text: string) => readonly string[]): Format =>
  (text) =>
    problems(text).length === 0;

/** The prefix of a generated name may end with a dash. */
const prefixOf =
  (problems: (text: string) => readonly string[], maxLength: number): Format =>
  (text) =>
    text.length <= maxLength && problems(text.replace(/-$/, '')).length === 0;

const FORMATS: Readonly<Record<string, Format>> = {
  dns1123Label: valid(dnsLabelProblems),
  dns1123Subdomain: valid(dnsSubdomainProblems),
  dns1035Label: valid(dns1035LabelProblems),
  qualifiedName: valid(qualifiedNameProblems),
  dns1123LabelPrefix: prefixOf(dnsLabelProblems, 63),
  dns1123SubdomainPrefix: prefixOf(dnsSubdomainProblems, 253),
  dns1035LabelPrefix: prefixOf(dns1035LabelProblems, 63),
  labelValue: valid(labelValueProblems),
  uri: (text) => parseUrl(text) !== undefined,
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  byte: (text) => text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  datetime: (text) => /^\d{4}-\d{2}-\d{2}[Tt]/.test(text) && !Number.isNaN(Date.parse(text)),
};

const format = (name: string): Opaque => new Opaque('format', FORMATS[name], name);

/** Functions of named formats. */
export const FORMAT_FUNCTIONS: Functions = {
  ...Object.fromEntries(Object.keys(FORMATS).map((name) => [`format::${name}():format`, () => format(name)])),
  'format::named(string):optional<format>': (name: string) =>
    new Optional(Object.hasOwn(FORMATS, name) ? format(name) : undefined),
  'format.validate(string):optional<list<string>>': ({ data, text: name }: Opaque, text: string) =>
    new Optional((data as Format)(text) ? undefined : List.of([`must be a valid ${name}`])),
};
