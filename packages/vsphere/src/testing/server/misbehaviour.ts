import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** What the server does with a call instead of answering it properly. */
export type Misbehaviour =
  /** The connection is cut before the call is done, or after it was, with its answer lost. */
  | { readonly act: 'reset-before' | 'reset-after' }
  /** Nothing comes, and nothing ends: as if the other side had gone silently. */
  | { readonly act: 'half-open' }
  /** Only this part of the answer comes, 0 to 1, though all of it was promised. */
  | { readonly act: 'truncate'; readonly keep: number }
  /** The answer comes twice, the halves of one between those of the other. */
  | { readonly act: 'interleave' }
  /** The answer comes under another content type. */
  | { readonly act: 'mistype'; readonly contentType: string }
  /** Something else comes, in pieces made one by one: it may be larger than memory. */
  | {
      readonly act: 'instead';
      readonly status?: number;
      readonly contentType?: string;
      readonly body: () => Iterable<string | Buffer>;
    }
  /** A fault. */
  | { readonly act: 'fault'; readonly fault: string; readonly fields?: string };

/** Rules that are still to come true, by method. */
export class Misbehaviours {
  readonly #rules = new Map<string, { readonly what: Misbehaviour; times: number; after: number }[]>();

  /** `times` calls of a method go wrong, behind `after` calls that do not. Rules of one method come true one after another. */
  add(method: string, what: Misbehaviour, times = 1, after = 0): void {
    const rules = this.#rules.get(method) ?? [];
    rules.push({ what, times, after });
    this.#rules.set(method, rules);
  }

  take(method: string): Misbehaviour | undefined {
    const rules = this.#rules.get(method) ?? [];
    const rule = rules[0];
    if (rule === undefined) return undefined;
    if (rule.after > 0) {
      rule.after -= 1;
      return undefined;
    }
    rule.times -= 1;
    if (rule.times <= 0) rules.shift();
    return rule.what;
  }

  /** Those that have not come true. */
  get left(): number {
    let left = 0;
    for (const rules of this.#rules.values()) left += rules.length;
    return left;
  }
}

/** Sends an answer in the way that is asked for. */
export async function sendWrong(response: ServerResponse, how: Misbehaviour, answer: Buffer): Promise<void> {
  switch (how.act) {
    case 'half-open':
    case 'fault':
      return;
    case 'reset-before':
    case 'reset-after':
      response.destroy();
      return;
    case 'truncate':
      response.writeHead(200, { 'content-type': 'text/xml', 'content-length': answer.length });
      response.write(answer.subarray(0, Math.floor(answer.length * how.keep)), () => response.destroy());
      return;
    case 'interleave': {
      const half = answer.length >> 1;
      response.writeHead(200, { 'content-type': 'text/xml' });
      response.write(answer.subarray(0, half));
      response.write(answer.subarray(0, half));
      response.write(answer.subarray(half));
      response.end(answer.subarray(half));
      return;
    }
    case 'mistype':
      response.writeHead(200, { 'content-type': how.contentType });
      response.end(answer);
      return;
    case 'instead': {
      const closed = once(response, 'close');
      response.writeHead(how.status ?? 200, { 'content-type': how.contentType ?? 'text/xml' });
      for (const piece of how.body()) {
        if (response.destroyed) return;
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed]);
      }
      response.end();
    }
  }
}
