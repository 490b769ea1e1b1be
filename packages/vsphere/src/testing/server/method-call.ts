import type { MoRef } from '../../vcenter.ts';
import type { XmlElement } from '../../xml/xml.ts';
import { escapeText } from '../../xml/xml-characters.ts';
import type { ServerSession } from './server-session.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';
import type { TaskRecord } from './vcenter-world.ts';

/** One call of a session. */
export interface MethodCall {
  readonly state: VCenterServerState;
  readonly session: ServerSession;
  readonly method: string;
  readonly self: MoRef;
  readonly body: XmlElement;
  /** The task that it was answered with. */
  task?: TaskRecord;
}

/** What a method does: the inside of its response. */
export type MethodAct = (call: MethodCall) => string;

/** Methods by name, of objects of one type. */
export interface MethodTable {
  readonly on: string;
  readonly methods: Readonly<Record<string, MethodAct>>;
}

/** `<returnval>` of a reference. */
export const returned = ({ type, value }: MoRef): string =>
  `<returnval type="${escapeText(type)}">${escapeText(value)}</returnval>`;

/** Answers with a task. */
export function answerTask(call: MethodCall, task: TaskRecord): string {
  call.task = task;
  return returned(task.ref);
}
