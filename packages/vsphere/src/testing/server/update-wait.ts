import type { ServerResponse } from 'node:http';
import { child, childText, referenceOf, type XmlElement } from '../../xml/xml.ts';
import type { ObjectIndex } from './object-index.ts';
import type { ServerSession } from './server-session.ts';
import { Refusal } from './soap-refusal.ts';

/** What waits share. */
export interface WaitContext {
  readonly index: ObjectIndex;
  /** Responses that are held. */
  readonly waiting: Set<ServerResponse>;
  readonly secondMs: number;
  /** A wait has nothing to say. */
  readonly onIdle: () => void;
  /** A wait was answered: what to do while its reader is busy, and then to prepare the next answer. */
  readonly onAnswered: () => (() => void) | undefined;
}

/** A real vCenter puts no more into a page, whatever is asked. */
const MOST = 100;
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves to the answer of a wait, or to undefined after its time; rejects with the `Refusal` that ends it. */
export function waitForUpdates(
  context: WaitContext,
  session: ServerSession,
  body: XmlElement,
  response: ServerResponse,
): Promise<Buffer | undefined> {
  const { index, waiting, secondMs } = context;
  const ref = referenceOf(child(body, '_this'));
  const id = ref?.value ?? '';
  const collector = session.collector(ref);
  const version = childText(body, 'version') ?? '';
  const limits = child(body, 'options');
  const seconds = Number(childText(limits, 'maxWaitSeconds') ?? Number.POSITIVE_INFINITY);
  const most = Math.min(MOST, Number(childText(limits, 'maxObjectUpdates') ?? MOST));
  // Of two waits on one collector the later one is served.
  session.waits.get(id)?.end('RequestCanceled');
  return new Promise((resolve, reject) => {
    let scheduled = false;
    const settle = (how: () => void): void => {
      clearTimeout(timer);
      index.events.off('changed', later);
      session.waits.delete(id);
      waiting.delete(response);
      how();
    };
    const look = (): boolean => {
      scheduled = false;
      if (session.waits.get(id) !== mine) return true;
      try {
        const answer = collector.answer(version, most);
        if (answer === undefined) return false;
        settle(() => resolve(answer));
        const next = context.onAnswered();
        if (next !== undefined) {
          setImmediate(() => {
            next();
            collector.prepare(most);
          });
        }
      } catch (error) {
        settle(() => reject(error as Error));
      }
      return true;
    };
    // Several changes of one moment go together.
    const later = (): void => {
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(look);
    };
    const mine = { end: (fault: string) => settle(() => reject(new Refusal(fault))) };
    const timer = setTimeout(() => settle(() => resolve(undefined)), Math.min(seconds * secondMs, LONGEST_MS));
    session.waits.set(id, mine);
    if (look()) return;
    index.events.on('changed', later);
    waiting.add(response);
    response.once('close', () => {
      if (session.waits.get(id) === mine) settle(() => resolve(undefined));
    });
    context.onIdle();
  });
}
