/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** One question to the authorizer. */
export interface AccessRequest {
  readonly verb: string;
  /** Of a resource; absent for a plain path. */
  readonly resource?: {
    readonly group: string;
    readonly resource: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
  };
  /** Of what is no resource. */
  readonly path?: string;
}

const includes = (set: readonly string[] | undefined, value: string): boolean => set?.includes(value) ?? false;
const all = (set: readonly string[] | undefined, values: readonly string[] | undefined): boolean =>
  (values ?? []).every((value) => includes(set, value));

/** Whether a rule alone grants the request. */
export function ruleAllows(rule: PolicyRule, { verb, resource, path = '' }: AccessRequest): boolean {
  if (!includes(rule.verbs, '*') && !includes(rule.verbs, verb)) return false;
  if (resource === undefined) return (rule.nonResourceURLs ?? []).some((url) => urlCovers(url, path));
  const { group, subresource, name } = resource;
  const combined = subresource === '' ? resource.resource : `${resource.resource}/${subresource}`;
  return (
    (includes(rule.apiGroups, '*') || includes(rule.apiGroups, group)) &&
    (rule.resources ?? []).some(
      (one) => one === '*' || one === combined || (subresource !== '' && one === `*/${subresource}`),
    ) &&
    ((rule.resourceNames ?? []).length === 0 || includes(rule.resourceNames, name))
  );
}

function urlCovers(owned: string, asked: string): boolean {
  if (owned === '*' || owned === asked) return true;
  return owned.endsWith('*') && asked.startsWith(owned.replace(/\*+$/, ''));
}

/** The parts of `wanted` that no rule of `owned` covers, each with one verb, resource and name. */
export function missingRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  return wanted.flatMap(atomsOf).filter((atom) => !owned.some((rule) => ruleCovers(rule, atom)));
}

function atomsOf(rule: PolicyRule): readonly PolicyRule[] {
  const atoms: PolicyRule[] = [];
  const names = rule.resourceNames ?? [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs ?? []) {
        const atom = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (names.length === 0) atoms.push(atom);
        else for (const name of names) atoms.push({ ...atom, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs ?? []) atoms.push({ nonResourceURLs: [url], verbs: [verb] });
  }
  return atoms;
}

function ruleCovers(owner: PolicyRule, atom: PolicyRule): boolean {
  const names = atom.resourceNames ?? [];
  return (
    (includes(owner.verbs, '*') || all(owner.verbs, atom.verbs)) &&
    (includes(owner.apiGroups, '*') || all(owner.apiGroups, atom.apiGroups)) &&
    resourcesCover(owner.resources, atom.resources ?? []) &&
    (atom.nonResourceURLs ?? []).every((url) =>
      (owner.nonResourceURLs ?? []).some((owned) => owned === url || (owned.endsWith('*') && urlCovers(owned, url))),
    ) &&
    ((owner.resourceNames ?? []).length === 0 || (names.length > 0 && all(owner.resourceNames, names)))
  );
}

function resourcesCover(owned: readonly string[] | undefined, asked: readonly string[]): boolean {
  if (includes(owned, '*')) return true;
  return asked.every((path) => {
    if (includes(owned, path)) return true;
    const slash = path.indexOf('/');
    return slash !== -1 && includes(owned, `*/${path.slice(slash + 1)}`);
  });
}

const quotedList = (values: readonly string[]): string => `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;

/** Rules as the server lists them in its refusals: those that differ by verb alone as one, sorted. */
export function describeRules(rules: readonly PolicyRule[]): readonly string[] {
  const merged = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const { verbs = [], ...rest } = rule;
    const key = JSON.stringify([rest.apiGroups, rest.resources, rest.resourceNames, rest.nonResourceURLs]);
    const known = rest.nonResourceURLs === undefined ? merged.get(key) : undefined;
    merged.set(rest.nonResourceURLs === undefined ? key : `${key} ${verbs.join()}`, {
      ...rest,
      verbs: [...(known?.verbs ?? []), ...verbs],
    });
  }
  const texts = [...merged.values()].map((rule) => {
    const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
      ['APIGroups', rule.apiGroups],
      ['Resources', rule.resources],
      ['NonResourceURLs', rule.nonResourceURLs],
      ['ResourceNames', rule.resourceNames],
      ['Verbs', rule.verbs],
    ];
    const shown = parts.flatMap(([name, values]) =>
      values === undefined || values.length === 0 ? [] : [`${name}:${quotedList(values)}`],
    );
    return `{${shown.join(', ')}}`;
  });
  return [...new Set(texts)].sort();
}
