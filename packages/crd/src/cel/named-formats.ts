import { Optional } from '@marcbachmann/cel-js';
import { hasFormat } from '../text/formats.ts';
import { type Add, decided } from './fault.ts';

/** A format that rules ask for by name. */
export class NamedFormat {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** What a format says of a text that has it not. The words change from release to release, so a rule that reads them is undecided: the library does not know this type. */
class Words {}

const LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const OLD_LABEL = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** A name that something is yet to be added to may end with a dash. */
const asPrefix = (text: string): string => (text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text);
const within = (most: number, pattern: RegExp) => (text: string) => text.length <= most && pattern.test(text);
const strfmt = (format: string) => (text: string) => hasFormat(format, text, 0);

const FORMATS: Readonly<Record<string, (text: string) => boolean | undefined>> = {
  dns1123Label: within(63, LABEL),
  dns1123LabelPrefix: (text) => within(63, LABEL)(asPrefix(text)),
  dns1123Subdomain: within(253, SUBDOMAIN),
  dns1123SubdomainPrefix: (text) => within(253, SUBDOMAIN)(asPrefix(text)),
  dns1035Label: within(63, OLD_LABEL),
  dns1035LabelPrefix: (text) => within(63, OLD_LABEL)(asPrefix(text)),
  qualifiedName: (text) => {
    const parts = text.split('/');
    const [name = '', prefix] = parts.toReversed();
    return parts.length <= 2 && (prefix === undefined || within(253, SUBDOMAIN)(prefix)) && within(63, NAME)(name);
  },
  labelValue: (text) => text === '' || within(63, NAME)(text),
  uri: strfmt('uri'),
  uuid: strfmt('uuid'),
  byte: strfmt('byte'),
  date: strfmt('date'),
  datetime: strfmt('datetime'),
};

/** k8s.io/apiserver, pkg/cel/library/format.go. */
export function addNamedFormats(add: Add): void {
  for (const name of Object.keys(FORMATS)) add(`format_${name}(): NamedFormat`, () => new NamedFormat(name));
  add('format_named(string): optional<NamedFormat>', (name: string) =>
    Object.hasOwn(FORMATS, name) ? Optional.of(new NamedFormat(name)) : Optional.none(),
  );
  add('NamedFormat == NamedFormat', (a: NamedFormat, b: NamedFormat) => a.name === b.name);
  add('NamedFormat.validate(string): optional', ({ name }: NamedFormat, text: string) =>
    decided(FORMATS[name]?.(text)) ? Optional.none() : Optional.of(new Words()),
  );
}
