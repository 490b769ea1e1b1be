import type { DifferenceClass } from './differences.ts';
import type { PlannedRequest } from './planned-request.ts';
import type { ServerAnswer, ServerSide } from './server-side.ts';

/** The same server, whose answers have one difference of a class: proof that the comparison finds it. */
export function withPlanted(side: ServerSide, what: DifferenceClass): ServerSide {
  let left = 1;
  const once = (): boolean => left-- > 0;
  return {
    send: async (sent) => {
      const answer = await side.send(sent);
      if (what === 'watch' || !isTarget(sent.method, sent.path, answer, what) || !once()) return answer;
      return planted(answer, what);
    },
    watch: async (path, changed) => {
      const opened = await side.watch(path, changed);
      if (what !== 'watch' || !path.startsWith('/api/v1/configmaps')) return opened;
      const push = opened.events.push.bind(opened.events);
      // One event in a thousand is lost by a careless server; here it is the first.
      opened.events.push = (event) => (once() ? opened.events.length : push(event));
      return opened;
    },
    [Symbol.asyncDispose]: () => side[Symbol.asyncDispose](),
  };
}

function isTarget(
  method: PlannedRequest['method'],
  path: string,
  { code }: ServerAnswer,
  what: DifferenceClass,
): boolean {
  if (!path.includes('/namespaces/differ-')) return false;
  return what === 'body' ? method === 'GET' && code === 200 : method !== 'GET' && code >= 400;
}

function planted(answer: ServerAnswer, what: DifferenceClass): ServerAnswer {
  const body = answer.body as Readonly<Record<string, unknown>>;
  if (what === 'code') return { ...answer, code: 418 };
  if (what === 'reason') return { ...answer, body: { ...body, reason: 'Planted' } };
  return { ...answer, body: { ...body, apiVersion: 'planted/v1' } };
}
