import type { KubeObject, WithStatus } from '@drydock/kube';
import { asStated, type StateCondition, type StoredCondition, withConditions } from '../state/conditions.ts';
import type { Face } from './face.ts';
import type { Wait } from './retrieval.ts';

const TYPE = 'ReleaseAccepted';
const REASON = 'RetrievePayload';

/** The status of an object that waits before anything can be said of the release that it asks for (`asked`); nothing else of it changes. undefined: there is none to change. */
export function statusWaiting<T extends KubeObject & WithStatus>(
  face: Face<T>,
  current: T,
  { asked, wait, now }: { readonly asked: string; readonly wait: Wait; readonly now: string },
): NonNullable<T['status']> | undefined {
  const { conditions } = face.recordOf(current);
  const { object, since } = wait;
  const why = wait.why();
  const others = conditions.filter(({ type }) => type !== TYPE).map(asStated);
  const accepted = stillAccepted(
    conditions.find(({ type }) => type === TYPE),
    asked,
    why,
  );
  return face.waitingOf(
    {
      waiting: [{ object, why, since: since.toISOString() }],
      conditions: withConditions(conditions, [...others, accepted], now),
    },
    current,
  );
}

/** What was found out about this release stands until it is known better. */
function stillAccepted(was: StoredCondition | undefined, asked: string, why: string): StateCondition {
  const isAboutIt = was?.message?.startsWith(`${asked} `) === true;
  if (isAboutIt && was.reason !== REASON) return asStated(was);
  const status = isAboutIt && was.status === 'False' ? 'False' : 'Unknown';
  return { type: TYPE, status, reason: REASON, message: `${asked} is not applied yet: ${why}.` };
}
