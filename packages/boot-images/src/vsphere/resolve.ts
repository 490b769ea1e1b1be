import type { TemplateState } from '@drydock/templates';
import { type Skip, skip } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import { compareReleases, type DowngradePolicy } from '../observe/version.ts';

/** A template as it was found under a reference. */
export type Present = Extract<TemplateState, { readonly kind: 'present' }>;

/** What is known about the template of one set. */
export interface TemplateFacts {
  readonly set: string;
  /** `providerSpec.template`. */
  readonly reference: string;
  /** What stands under the reference, in the workspace's folder. */
  readonly referenced: TemplateState;
  /** What stands under the installer's name there; looked up only where the reference is absent or a person's own template. */
  readonly computed: TemplateState;
  readonly computedName: string;
  /**
   * Something in the cluster names the computed template: a failure domain of Infrastructure. A name and a version alone anybody who may create a
   * template can give, so one that is neither ours nor named is never pointed at.
   */
  readonly computedNamed: boolean;
  readonly release: string;
  readonly downgrade: DowngradePolicy;
}

/**
 * The next step for the template of one set. `existing` is what the set boots from today. A template that is there is pointed at (`point`), any other is made (`publish`), in the likeness of
 * the one that it `replaces`.
 */
export type TemplateStep =
  | { readonly kind: 'current'; readonly existing: Present }
  | { readonly kind: 'point'; readonly to: Present; readonly existing: Present | undefined }
  | { readonly kind: 'publish'; readonly existing: Present | undefined; readonly replaces: Present | undefined }
  | (Skip & { readonly existing: Present });

/**
 * Steps A and B of boot-images.md §4.3 and the decision of §4.4, in pointer mode: an outdated template, a person's own one included
 * (BI-V136), is never rebuilt under its name; the set is pointed at the computed one where that is current, else a new one is
 * published. Throws `TemplateVersionUnknown` and `NotATemplate`.
 */
export function resolveTemplate(facts: TemplateFacts): TemplateStep {
  const { referenced, computed, release } = facts;
  if (referenced.kind === 'present') {
    const step = compare(referenced, facts);
    if (step !== 'older') return step;
    return computed.kind === 'present' && computed.version === release && mayTake(computed, facts)
      ? { kind: 'point', to: computed, existing: referenced }
      : { kind: 'publish', existing: referenced, replaces: referenced };
  }
  if (computed.kind === 'absent') return { kind: 'publish', existing: undefined, replaces: undefined };
  if (!mayTake(computed, facts)) return { kind: 'publish', existing: undefined, replaces: computed };
  // The reference leads nowhere: one that is there is better, also where it is newer than the stream.
  return compare(computed, facts) === 'older'
    ? { kind: 'publish', existing: undefined, replaces: computed }
    : { kind: 'point', to: computed, existing: undefined };
}

function mayTake(computed: Present, { computedNamed }: TemplateFacts): boolean {
  return isWhole(computed) && (computed.ours || computedNamed);
}

/** A template that is what was published, as far as anybody knows. */
function isWhole({ isTemplate, estranged }: Present): boolean {
  return isTemplate && estranged === undefined;
}

function compare(template: Present, facts: TemplateFacts): TemplateStep | 'older' {
  if ((template.version === undefined || template.version === '') && !template.isTemplate) {
    throw new BootImageError('NotATemplate', `${template.name} is a machine, not a template: ${facts.reference}`, {
      retriable: false,
      nextStep: `point machineset ${facts.set} at a template, for example ${facts.computedName}, or give the machine another name`,
    });
  }
  if (template.version === undefined || template.version === '') {
    throw new BootImageError(
      'TemplateVersionUnknown',
      `unable to determine RHCOS version of virtual machine: ${facts.reference}`,
      {
        retriable: false,
        nextStep: `point machineset ${facts.set} at a template that was imported from an OVA, for example ${facts.computedName}`,
      },
    );
  }
  // What was ours and is somebody's now, or is another one than was published, is kept where it is, and a new one is made.
  if (template.version === facts.release)
    return isWhole(template) || (!template.ours && template.estranged === undefined)
      ? { kind: 'current', existing: template }
      : { kind: 'publish', existing: template, replaces: template };
  const order = compareReleases(template.version, facts.release);
  if (order !== undefined && order > 0 && facts.downgrade === 'keep') {
    return {
      ...skip(
        true,
        'NewerThanStream',
        `newer than ${facts.release}`,
        `template ${template.name} has release ${template.version}, newer than ${facts.release} of the stream`,
        { nextStep: 'to follow the stream down: drydock operator --downgrade replace' },
      ),
      existing: template,
    };
  }
  return 'older';
}
