import { setTimeout as delay } from 'node:timers/promises';
import type { ApiServerEra } from '../../era.ts';

/** One request of a conversation. `NS` stands for a name of the conversation's own. */
export interface Line {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** JSON by default. */
  readonly type?: string;
  /** Asked again until the answer is like this: a controller has to act first. The last answer counts. */
  readonly until?: (answer: Spoken) => boolean;
  /** How long (ms) a real server needs after this until its caches know. */
  readonly pause?: number;
  /** Its answer does not matter. */
  readonly quiet?: boolean;
  /** Why both servers cannot give the same answer: then only its code is compared. */
  readonly differs?: string;
}

/** Requests that are made one after the other. */
export interface Conversation {
  readonly name: string;
  /** Of the servers; `E2` by default. */
  readonly era?: ApiServerEra;
  readonly lines: readonly Line[];
}

/** An answer. */
export interface Spoken {
  readonly code: number;
  readonly body: unknown;
  readonly warnings: readonly string[];
}

/** A server that is spoken to. */
export type Speaker = (line: Line) => Promise<Spoken>;

/** An answer without what no two servers share: identities, times, versions, addresses. */
export type Normal = Spoken;

/** A CRD whose kind is served. */
export function isEstablished({ body }: Spoken): boolean {
  const { conditions } =
    (body as { readonly status?: { readonly conditions?: readonly Condition[] | null } }).status ?? {};
  return (conditions ?? []).some(({ type, status }) => type === 'Established' && status === 'True');
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

const PATIENCE = 200;

/** What stands in conversations for what is known only when they are played. */
export type Places = Readonly<Record<string, string>>;

/** Plays a conversation and gives its answers, one per line that matters. `own` is its name on the server; only a real one needs the pauses. */
export async function play(
  { name, lines }: Conversation,
  speak: Speaker,
  own: string,
  more: Places = {},
  pauses: boolean = true,
): Promise<readonly Normal[]> {
  const places = { NS: own, ...more };
  const answers: Normal[] = [];
  for (const line of [namespaceOf(), ...lines]) {
    const asked = named(line, places) as Line;
    let answer = await speak(asked);
    for (let left = PATIENCE; line.until?.(answer) === false; left -= 1) {
      if (left === 0)
        throw new Error(
          `${name}: ${asked.method} ${asked.path} is still ${answer.code}: ${JSON.stringify(answer.body)}`,
        );
      await delay(25);
      answer = await speak(asked);
    }
    if (line.pause !== undefined && pauses) await delay(line.pause);
    if (line.quiet !== true) answers.push(normal(answer, places, line));
  }
  return answers;
}

function namespaceOf(): Line {
  return { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'NS' } } };
}

function named(value: unknown, places: Places): unknown {
  if (typeof value === 'string')
    return Object.entries(places).reduce((text, [place, own]) => text.replaceAll(place, own), value);
  if (Array.isArray(value)) return value.map((one) => named(one, places));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [named(key, places), named(one, places)]));
}

/** The places again for what stood in them, the longest first. */
function unnamed(text: string, places: Places): string {
  return Object.entries(places)
    .toReversed()
    .reduce((out, [place, own]) => out.replaceAll(own, place), text);
}

function normal({ code, body, warnings }: Spoken, places: Places, line: Line): Normal {
  const plain = normalValue(body, '', places) as Record<string, unknown>;
  if (line.differs !== undefined) return { code, body: line.differs, warnings: [] };
  return { code, body: withSortedCauses(plain), warnings: warnings.map((one) => unnamed(one, places)).toSorted() };
}

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

function normalValue(value: unknown, path: string, places: Places): unknown {
  if (Array.isArray(value))
    return sortedOwners(
      path,
      value.map((one) => normalValue(one, `${path}[]`, places)),
    );
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, one]) => [key, normalValue(one, `${path}.${key}`, places)] as const,
    );
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
  if (typeof value === 'number') return path.endsWith('.nodePort') && value >= 30_000 ? 'a node port' : value;
  return typeof value === 'string' ? normalText(value, path, places) : value;
}

/** Entries of managed fields are in the order of their times, which are in seconds. */
function sortedOwners(path: string, list: readonly unknown[]): readonly unknown[] {
  if (!path.endsWith('.managedFields')) return list;
  return list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function normalText(text: string, path: string, places: Places): string {
  if (/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text) && !/renewTime|eventTime/.test(path)) return 'a time';
  if (path.endsWith('.manager') && /-apiserver/.test(text)) return 'kube-apiserver';
  if (path.endsWith('.resourceVersion')) return text === '' ? '' : 'a version';
  if (path.endsWith('.continue')) return text === '' ? '' : 'a token';
  if (/\.clusterIPs?(\[\])?$/.test(path) && text.startsWith('10.')) return 'an address';
  return (
    unnamed(text, places)
      .replaceAll(UID, 'a uid')
      // The whole object as text, whose fields have no order; and a comparison of two objects as Go prints them.
      .replace(/Invalid value: "\{\\"apiVersion.*"(?=: )/s, 'Invalid value: THE OBJECT')
      .replace(/\n@@[\s\S]*$/, '')
  );
}

/** Causes have no order, and the message repeats them. */
function withSortedCauses(body: Record<string, unknown>): Record<string, unknown> {
  const details = body['details'] as { readonly causes?: readonly unknown[] } | undefined;
  if (details?.causes === undefined || details.causes.length < 2) return body;
  const causes = details.causes.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  const message = String(body['message']);
  const [head = ''] = /^.*?is invalid: /s.exec(message) ?? [];
  return { ...body, details: { ...details, causes }, message: `${head}${message.length - head.length} letters` };
}
