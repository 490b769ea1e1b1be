import type { Infrastructure } from '@drydock/api';
import type { ListedTemplate } from '@drydock/templates';
import { leafName } from './names.ts';
import type { Present } from './resolve.ts';

/** Names of the templates that the failure domains of Infrastructure name. */
export function namedByDomains({ spec }: Pick<Infrastructure, 'spec'>): ReadonlySet<string> {
  const domains = spec?.platformSpec?.vsphere?.failureDomains ?? [];
  return new Set(domains.flatMap(({ topology: { template = '' } }) => (template === '' ? [] : [leafName(template)])));
}

/** Why no set is pointed back at a template, as a clause. */
export type Refusal =
  /** It is not what was published. */
  | { readonly kind: 'changed'; readonly why: string }
  /** A name and a version alone anybody who may create a template can give. */
  | { readonly kind: 'unproven'; readonly why: string };

/** Of a template that no witness speaks for: whoever has no key of the marks cannot tell. */
export const UNPROVEN =
  'nothing proves that it is the template that the set had: it is not adopted, and no failure domain of infrastructure/cluster names it';

/**
 * Whether a set may go back to a template: the one rule by which a history says what is revertable, and by which a pin is obeyed. It must be whole, and be ours or be named by a failure domain of
 * Infrastructure, which nobody can write from within vCenter. `named`: see {@link namedByDomains}.
 */
export function refusalOf(template: Present, named: ReadonlySet<string>): Refusal | undefined {
  if (template.estranged !== undefined) return { kind: 'changed', why: template.estranged };
  if (!template.isTemplate) return { kind: 'changed', why: 'it is a machine, not a template' };
  if (template.ours || named.has(leafName(template.name))) return undefined;
  return {
    kind: 'unproven',
    why: UNPROVEN,
  };
}

const OURS: ReadonlySet<ListedTemplate['role']> = new Set(['current', 'retired', 'adopted']);
const CHANGED: ReadonlySet<ListedTemplate['role']> = new Set(['tampered', 'converted', 'unreadable']);

/** A listed machine as an inspection of it would tell it; undefined for what nobody goes back to. */
export function presentOf({
  name,
  role,
  release,
  version,
  digest,
  isTemplate,
  reason,
}: ListedTemplate): Present | undefined {
  if (!OURS.has(role) && !CHANGED.has(role) && role !== 'unmarked' && role !== 'unproven') return undefined;
  return {
    ...{ kind: 'present', name, version: release ?? version, isTemplate, ours: OURS.has(role) },
    ...(digest === undefined ? {} : { digest }),
    ...(CHANGED.has(role) ? { estranged: reason ?? `it is ${role}` } : {}),
  };
}
