import type { TemplateState } from '@drydock/templates';
import type { Skip } from '../decide.ts';
import { skip } from '../decide.ts';
import { BootImageError } from '../errors.ts';
import { compareReleases, type DowngradePolicy } from '../version.ts';

/** A template as it was found under a reference. */
export type Present = Extract<TemplateState, { readonly kind: 'present' }>;

/** What is known about the template of one set. */
export interface TemplateFacts {
  readonly set: string;
  /** `providerSpec.template`. */
  readonly reference: string;
  /** What stands under the reference, in the workspace's folder. */
  readonly referenced: TemplateState;
  /** What stands under the installer's name there. */
  readonly computed: TemplateState;
  readonly computedName: string;
  /** The reference is one of the names that installers give. */
  readonly installerName: boolean;
  readonly release: string;
  readonly downgrade: DowngradePolicy;
}

/** The next step for the template of one set. `existing` is what would be replaced. */
export type TemplateStep =
  | { readonly kind: 'current'; readonly existing: Present }
  | { readonly kind: 'point'; readonly to: string; readonly existing: Present }
  | { readonly kind: 'publish'; readonly existing: Present | undefined }
  | (Skip & { readonly existing: Present });

/**
 * Steps A and B of boot-images.md §4.3 and the decision of §4.4, in pointer mode: an outdated template is never rebuilt under its
 * name, a new one is published beside it. Throws `TemplateVersionUnknown`.
 */
export function resolveTemplate(facts: TemplateFacts): TemplateStep {
  const { referenced, computed } = facts;
  if (referenced.kind === 'present') {
    const step = compare(referenced, facts);
    if (step !== 'older') return step;
    if (!referenced.ours && !facts.installerName) {
      return {
        ...skip(
          true,
          'CustomImage',
          'custom template',
          `machineset ${facts.set} uses template ${facts.reference}, which neither an installer nor Drydock made`,
          {
            nextStep: `set spec.template.spec.providerSpec.value.template of machineset ${facts.set} to ${facts.computedName} to have it managed`,
          },
        ),
        existing: referenced,
      };
    }
    return { kind: 'publish', existing: referenced };
  }
  if (computed.kind === 'present') {
    const step = compare(computed, facts);
    if (step === 'older') return { kind: 'publish', existing: computed };
    return step.kind === 'current' ? { kind: 'point', to: facts.computedName, existing: computed } : step;
  }
  return { kind: 'publish', existing: undefined };
}

function compare(template: Present, facts: TemplateFacts): TemplateStep | 'older' {
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
  if (template.version === facts.release) return { kind: 'current', existing: template };
  const order = compareReleases(template.version, facts.release);
  if (order !== undefined && order > 0 && facts.downgrade === 'keep') {
    return {
      ...skip(
        true,
        'NewerThanStream',
        `newer than ${facts.release}`,
        `template ${template.name} has release ${template.version}, newer than ${facts.release} of the stream`,
        { nextStep: 'allow downgrades (--downgrade=replace) to follow the stream down' },
      ),
      existing: template,
    };
  }
  return 'older';
}
