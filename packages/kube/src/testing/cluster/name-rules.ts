import type { KindRules } from './rules.ts';

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** A DNS label of RFC 1123. Its length is checked apart, as in all of these. */
export const LABEL: RegExp = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** A DNS label that begins with a letter. */
export const LABEL_1035: RegExp = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const KEY_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
/** The value of a label. */
export const LABEL_VALUE: RegExp = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

/** What the server says of names that break a rule. */
export const NAME_RULES = {
  subdomain:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  label:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  dns1035:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  key: "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  value:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
} as const;

/** Why a name will not do; undefined: it will. */
export function nameProblem(name: string, rule: KindRules['names']): string | undefined {
  switch (rule) {
    case 'path':
      if (name === '.' || name === '..') return `may not be '${name}'`;
      return ['/', '%'].map((one) => (name.includes(one) ? `may not contain '${one}'` : '')).find((one) => one !== '');
    case 'label':
    case 'dns1035':
      if (name.length > 63) return 'must be no more than 63 characters';
      return (rule === 'label' ? LABEL : LABEL_1035).test(name) ? undefined : NAME_RULES[rule];
    default:
      if (name.length > 253) return 'must be no more than 253 characters';
      return SUBDOMAIN.test(name) ? undefined : NAME_RULES.subdomain;
  }
}

/** Why a label key, an annotation key or a finalizer is no qualified name; undefined: it is one. */
export function qualifiedProblem(key: string): string | undefined {
  const [name = '', prefix, more] = key.split('/').toReversed();
  if (more !== undefined)
    return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  if (prefix === '') return 'prefix part must be non-empty';
  if (prefix !== undefined && !SUBDOMAIN.test(prefix)) return `prefix part ${NAME_RULES.subdomain}`;
  if (name === '') return 'name part must be non-empty';
  if (name.length > 63) return 'name part must be no more than 63 characters';
  return KEY_NAME.test(name) ? undefined : NAME_RULES.key;
}
