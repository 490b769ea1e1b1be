import type { MoRef } from '@drydock/vsphere';
import type { Act } from '../decide/machine.ts';
import type { PlannedStep } from '../library.ts';
import { OWNERSHIP } from '../mark/ownership-record.ts';

/** A step as a plan prints it: the calls that it makes in vCenter, in order, and a sentence. */
export function planned(step: Act): PlannedStep {
  const machine = step.kind === 'import' ? step.attempt.name : step.name;
  return { step: step.kind, calls: callsOf(step), text: textOf(step), machine };
}

/** The custom attribute that a planned call sets; undefined for any other call. */
export function attributeOf(call: string): string | undefined {
  return call.startsWith('SetField ') ? OWNERSHIP : undefined;
}

/** A call on a machine: `Rename_Task vm-12 "a" -> "b"`. What does not exist yet goes by its name alone. */
export function callOn(
  method: string,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  rest = '',
): string {
  const object = ref.value.startsWith('"') ? `"${name}"` : `${ref.value} "${name}"`;
  return `${method} ${object}${rest === '' ? '' : ` ${rest}`}`;
}

function callsOf(step: Act): readonly string[] {
  switch (step.kind) {
    case 'import': {
      const object = `"${step.attempt.name}"`;
      return [
        `ImportVApp ${object}`,
        `Upload ${object}`,
        `HttpNfcLeaseComplete ${object}`,
        `SetField ${object} ownership`,
        `ReconfigVM_Task ${object}`,
      ];
    }
    case 'finish':
      return [
        ...(step.record === true ? [callOn('SetField', step, 'ownership')] : []),
        callOn('ReconfigVM_Task', step),
      ];
    case 'markAsTemplate':
      return [callOn('MarkAsTemplate', step)];
    case 'record':
      return [callOn('SetField', step, 'ownership')];
    case 'attachTags':
      return step.tagIds.map((id) => callOn('AttachTag', step, id));
    case 'intend':
      return step.old.claim ? [callOn('SetField', step.old, 'ownership')] : [];
    case 'swap':
      return [
        callOn('Rename_Task', step.old, `-> "${step.retired}"`),
        callOn('Rename_Task', step, `-> "${step.publishes}"`),
      ];
    case 'rename':
      return [callOn('Rename_Task', step, `-> "${step.to}"`)];
    case 'retire':
      return [];
    case 'destroy':
      return [callOn('Destroy_Task', step)];
  }
}

function textOf(step: Act): string {
  switch (step.kind) {
    case 'import':
      return `Import the image as ${step.attempt.name}; what is in use stays as it is.`;
    case 'finish':
      return `Call ${step.name} finished: it was uploaded whole.`;
    case 'markAsTemplate':
      return `Make ${step.name} a template.`;
    case 'record':
      return `Write the ownership record of ${step.name}.`;
    case 'attachTags':
      return `Attach ${step.tagIds.length === 1 ? 'a tag' : `${step.tagIds.length} tags`} to ${step.name}.`;
    case 'intend':
      return `Note in the ledger that ${step.name} replaces ${step.old.name}.`;
    case 'swap':
      return `Rename ${step.old.name} to ${step.retired} and ${step.name} to ${step.publishes}, back to back.`;
    case 'rename':
      return `Rename ${step.name} to ${step.to}: ${step.reason}.`;
    case 'retire':
      return `Note in the ledger that ${step.name} is retired, so that it is kept for a rollback.`;
    case 'destroy':
      return `Remove ${step.name}: ${step.reason}.`;
  }
}
