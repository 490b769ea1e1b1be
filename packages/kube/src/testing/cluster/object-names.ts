import type { KindRules } from './rules.ts';

// The formats of names, label keys and label values. Each function lists the server's messages; an empty list means valid.

interface NameFormat {
  readonly maxLength: number;
  readonly pattern: RegExp;
  readonly message: string;
}

const SUBDOMAIN: NameFormat = {
  maxLength: 253,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  message:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
};
const LABEL: NameFormat = {
  maxLength: 63,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  message:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
};
const LABEL_1035: NameFormat = {
  maxLength: 63,
  pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  message:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
};
const NAME_PART: NameFormat = {
  maxLength: 63,
  pattern: /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/,
  message:
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
};
const LABEL_VALUE: NameFormat = {
  maxLength: 63,
  pattern: /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
  message:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
};

function problems(text: string, { maxLength, pattern, message }: NameFormat): readonly string[] {
  return [
    ...(text.length > maxLength ? [`must be no more than ${maxLength} characters`] : []),
    ...(pattern.test(text) ? [] : [message]),
  ];
}

export function dnsSubdomainProblems(text: string): readonly string[] {
  return problems(text, SUBDOMAIN);
}

export function dnsLabelProblems(text: string): readonly string[] {
  return problems(text, LABEL);
}

/** A DNS-1035 label begins with a letter. */
export function dns1035LabelProblems(text: string): readonly string[] {
  return problems(text, LABEL_1035);
}

export function labelValueProblems(text: string): readonly string[] {
  return problems(text, LABEL_VALUE);
}

/** A label key, an annotation key or a finalizer: `name` or `prefix/name`. */
export function qualifiedNameProblems(key: string): readonly string[] {
  const [name = '', prefix, ...more] = key.split('/').toReversed();
  if (more.length > 0) {
    const suffix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a qualified name ${NAME_PART.message} ${suffix}`];
  }
  const ofPrefix = prefix === '' ? ['must be non-empty'] : prefix === undefined ? [] : dnsSubdomainProblems(prefix);
  const ofName = [...(name === '' ? ['must be non-empty'] : []), ...problems(name, NAME_PART)];
  return [...ofPrefix.map((problem) => `prefix part ${problem}`), ...ofName.map((problem) => `name part ${problem}`)];
}

/** The problems of an object's name by the rule of its kind. */
export function objectNameProblems(name: string, rule: KindRules['names']): readonly string[] {
  switch (rule) {
    case 'path':
      if (name === '.' || name === '..') return [`may not be '${name}'`];
      return ['/', '%'].filter((letter) => name.includes(letter)).map((letter) => `may not contain '${letter}'`);
    case 'label':
      return dnsLabelProblems(name);
    case 'dns1035':
      return dns1035LabelProblems(name);
    default:
      return dnsSubdomainProblems(name);
  }
}
