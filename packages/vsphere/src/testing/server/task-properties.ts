import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import { XSI_NS } from '../../xml/xml.ts';
import { parseXml } from '../../xml/xml-tree.ts';
import type { Refusal } from './soap-refusal.ts';
import type { TaskRecord, VCenterWorld } from './vcenter-world.ts';
import { type Data, data, dateTime, readValue } from './vim-values.ts';

/** The property `info` of a task. */
export function taskInfo(world: VCenterWorld, task: TaskRecord | undefined): Data | undefined {
  if (task === undefined) return undefined;
  const { ref, method, descriptionId, entity, state, cancelled, error, result, user, queued, completed } = task;
  return data('TaskInfo', {
    ...{ key: ref.value, task: ref, name: method, descriptionId, entity },
    ...{ entityName: escapeName(world.nameOf(refKey(entity))), state, cancelled, cancelable: state === 'running' },
    ...(error === undefined ? {} : { error: faultData(error) }),
    ...(result === undefined ? {} : { result: { any: result } }),
    ...(state === 'success' ? { progress: 100 } : {}),
    reason: data('TaskReasonUser', { userName: user }),
    ...{ queueTime: dateTime(queued), startTime: dateTime(queued) },
    ...(completed === undefined ? {} : { completeTime: dateTime(completed) }),
    eventChainId: 0,
  });
}

/** A refusal as `LocalizedMethodFault`. */
export function faultData({ fault, fields, text }: Refusal): Data {
  const read = readValue(parseXml(`<fault xmlns="urn:vim25" xmlns:xsi="${XSI_NS}">${fields}</fault>`));
  const known = typeof read === 'object' && 'data' in read ? read.fields : {};
  return data('LocalizedMethodFault', { fault: data(fault, known), localizedMessage: text });
}
