import type { MoRef } from '@drydock/vsphere';
import type { Act } from '../decide/machine.ts';
import type { PlannedStep } from '../library.ts';
import { MARK_ATTRIBUTE, PROOF } from '../mark.ts';
import { RECORD_ATTRIBUTE } from '../record.ts';

/** A step as a plan prints it: the calls that it makes, in order, and a sentence. `keyed`: there is a key to prove by. */
export function planned(step: Act, keyed: boolean): PlannedStep {
  const machine = step.kind === 'import' ? step.attempt.name : step.name;
  return { step: step.kind, calls: callsOf(step, keyed), text: textOf(step), machine };
}

/** The custom attribute that a planned call sets; undefined for any other call. */
export function attributeOf(call: string): string | undefined {
  if (!call.startsWith('SetField ')) return undefined;
  if (call.endsWith(' proof')) return PROOF;
  return / (?:marking|template)$/.test(call) ? RECORD_ATTRIBUTE : MARK_ATTRIBUTE;
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

/** The calls that say something of a template after its birth. What was not imported gets its code first. */
export function sayCalls(
  on: { readonly ref: MoRef; readonly name: string },
  role: 'adopted' | 'retired' | 'staged',
  coded: boolean,
): readonly string[] {
  return [...(coded ? [callOn('SetField', on, 'proof')] : []), callOn('SetField', on, role)];
}

function callsOf(step: Act, keyed: boolean): readonly string[] {
  switch (step.kind) {
    case 'import': {
      const object = `"${step.attempt.name}"`;
      return [
        `ImportVApp ${object}`,
        `Upload ${object}`,
        `HttpNfcLeaseComplete ${object}`,
        `ReconfigVM_Task ${object}`,
      ];
    }
    case 'finish':
      return [callOn('ReconfigVM_Task', step)];
    case 'markAsTemplate':
      return [
        callOn('SetField', step, 'marking'),
        callOn('MarkAsTemplate', step),
        callOn('SetField', step, 'template'),
      ];
    case 'record':
      return [callOn('SetField', step, 'template')];
    case 'attachTags':
      return step.tagIds.map((id) => callOn('AttachTag', step, id));
    case 'intend':
      return sayCalls(step, 'staged', false);
    case 'swap':
      return [
        callOn('Rename_Task', step.old, `-> "${step.retired}"`),
        callOn('Rename_Task', step, `-> "${step.publishes}"`),
      ];
    case 'rename':
      return [callOn('Rename_Task', step, `-> "${step.to}"`)];
    case 'retire': {
      const said = sayCalls(step, 'retired', keyed && !step.born);
      return step.recorded ? said : [callOn('SetField', step, 'template'), ...said];
    }
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
      return `Make ${step.name} a template, and record what it consists of.`;
    case 'record':
      return `Record what ${step.name} consists of, so that a change of it shows.`;
    case 'attachTags':
      return `Attach ${step.tagIds.length === 1 ? 'a tag' : `${step.tagIds.length} tags`} to ${step.name}.`;
    case 'intend':
      return `Note on ${step.name} which template it replaces, for recovery.`;
    case 'swap':
      return `Rename ${step.old.name} to ${step.retired} and ${step.name} to ${step.publishes}, back to back.`;
    case 'rename':
      return `Rename ${step.name} to ${step.to}: ${step.reason}.`;
    case 'retire':
      return `Mark ${step.name} as retired, so that it is kept as a way back.`;
    case 'destroy':
      return `Remove ${step.name}: ${step.reason}.`;
  }
}
