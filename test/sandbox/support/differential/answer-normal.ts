import type { ServerNames } from './server-names.ts';
import type { ServerAnswer } from './server-side.ts';

/** An answer as it is compared. */
export interface NormalAnswer {
  readonly code: number;
  /** '' where the body is no Status with one. */
  readonly reason: string;
  readonly body: unknown;
  readonly warnings: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** An answer without what two servers cannot have in common. */
export function normalAnswer({ code, body, warnings }: ServerAnswer, names: ServerNames): NormalAnswer {
  const plain = names.normal(withoutLineEnds(body));
  const reason = isFields(body) && body['kind'] === 'Status' ? ((body['reason'] ?? '') as string) : '';
  return {
    ...{ code, reason },
    body: isFields(plain) ? withSortedCauses(plain) : plain,
    warnings: warnings.map((one) => String(names.normal(one))).toSorted(),
  };
}

/** The events of a watch that was answered as text: one JSON value a line. */
export function watchBody(body: unknown): unknown {
  if (isFields(body) && typeof body['type'] === 'string') return { events: eventsWithoutBookmarks([body]) };
  if (typeof body !== 'string') return body;
  try {
    const lines = body.split('\n').filter((line) => line !== '');
    return { events: eventsWithoutBookmarks(lines.map((line) => JSON.parse(line) as unknown)) };
  } catch {
    return body;
  }
}

/** Bookmarks come when a server finds time for them; only the one that ends a list must be there. */
function eventsWithoutBookmarks(events: readonly unknown[]): readonly unknown[] {
  return events.filter(isComparable).map((event) => {
    if (!isBookmark(event) || !isFields(event['object'])) return event;
    // What else its object has is the empty value of a Go type.
    const { apiVersion, kind, metadata } = event['object'];
    return { type: 'BOOKMARK', object: { apiVersion, kind, metadata } };
  });
}

function isComparable(event: unknown): boolean {
  return !isBookmark(event) || JSON.stringify(event).includes('k8s.io/initial-events-end');
}

function isBookmark(event: unknown): event is Fields {
  return isFields(event) && event['type'] === 'BOOKMARK';
}

function withoutLineEnds(body: unknown): unknown {
  return typeof body === 'string' ? body.trimEnd() : body;
}

/** Causes have no order, and the message lists them. */
function withSortedCauses(body: Fields): Fields {
  const details = body['details'];
  const causes = isFields(details) ? details['causes'] : undefined;
  if (!Array.isArray(causes) || causes.length < 2) return body;
  const message = String(body['message']);
  const said = causes.map((cause: Fields) => `${String(cause['field'])}: ${String(cause['message'])}`);
  const head = message.slice(0, message.indexOf('['));
  const whole = new Set([`${head}[${said.join(', ')}]`.length]);
  return whole.has(message.length) ? { ...body, message: `${head}[${said.toSorted().join(', ')}]` } : body;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
