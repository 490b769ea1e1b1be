import { readJson } from '@drydock/api';
import { type LeftOut, pick } from './fields.ts';
import { secretExtent } from './secret-names.ts';
import { redacted } from './secret-redaction.ts';

const ERROR = { type: 'kept', code: 'kept', message: 'kept' } as const;
/** What a line of the operator's log may say. */
const LINE = {
  level: 'kept',
  time: 'kept',
  msg: 'kept',
  server: 'kept',
  set: 'kept',
  definition: 'kept',
  reason: 'kept',
  vm: 'kept',
  lease: 'kept',
  kind: 'kept',
  name: 'kept',
  namespace: 'kept',
  controller: 'kept',
  key: 'kept',
  role: 'kept',
  port: 'kept',
  template: 'kept',
  warning: 'kept',
  manager: 'kept',
  identity: 'kept',
  err: ERROR,
} as const;

/** A log as it may be given away: of lines of ours the fields that are known; of traces where in the code they were; of anything else nothing. */
export function shownLog(log: string, left: LeftOut, at: string): string {
  return log
    .split('\n')
    .flatMap((line) => (line.trim() === '' ? [] : (shownLine(line, left, at) ?? [])))
    .map((line) => `${line}\n`)
    .join('');
}

function shownLine(line: string, left: LeftOut, at: string): string | undefined {
  if (line.startsWith('{')) {
    try {
      const value = readJson(line);
      if (typeof value === 'object' && value !== null) {
        const stack = stackOf(value);
        const picked = pick(value, LINE, left, at) as object;
        return JSON.stringify(stack === undefined ? picked : { ...picked, stack });
      }
    } catch {
      // It is taken for a text.
    }
  }
  const frame = frameOf(line);
  if (frame !== undefined) return frame;
  const [, name] = /^(?:Uncaught )?(\w{1,40}Error)\b/.exec(line) ?? [];
  if (name !== undefined) return `${name}: ***`;
  left.set(
    `${at}, lines that are not the operator's own`,
    (left.get(`${at}, lines that are not the operator's own`) ?? 0) + 1,
  );
  return undefined;
}

function stackOf(value: object): readonly string[] | undefined {
  const { err } = value as { readonly err?: { readonly stack?: unknown } | null };
  const stack = err?.stack;
  if (typeof stack !== 'string') return undefined;
  return stack.split('\n', 40).flatMap((line) => frameOf(line) ?? []);
}

/** `at function (file:1:2)`. */
function frameOf(line: string): string | undefined {
  const [, where] =
    /^\s{1,20}at ([\w.<>$#: [\]-]{0,120}\(?(?:file:\/\/|node:)?[\w./@+-]{1,300}:\d{1,9}:\d{1,9}\)?)\s*$/.exec(line) ??
    [];
  return where === undefined ? undefined : `  at ${redacted(where)}`;
}

const OF_OURS = /^(?:drydock|process|nodejs|workqueue|rest_client)_\w{1,200}/;

/** Metrics of ours and of the process, each put together from its parts: of what labels say, no more than of any text. */
export function shownMetrics(text: string): string {
  return text
    .split('\n')
    .flatMap((line) => shownMetric(line) ?? [])
    .map((line) => `${line}\n`)
    .join('');
}

function shownMetric(line: string): string | undefined {
  const [, about, name = '', help = ''] = /^# (HELP|TYPE) (\w{1,200}) (.*)$/.exec(line) ?? [];
  if (about !== undefined) return OF_OURS.test(name) ? `# ${about} ${name} ${redacted(help)}` : undefined;
  const [metric] = OF_OURS.exec(line) ?? [];
  if (metric === undefined) return undefined;
  const [, inner, value] =
    /^(?:\{(.*)\})? ([-+]?(?:\d[\d.]{0,30}(?:e[-+]?\d{1,3})?|Inf|NaN))$/.exec(line.slice(metric.length)) ?? [];
  if (value === undefined) return undefined;
  const labels = [...(inner ?? '').matchAll(/(\w{1,200})="((?:[^"\\]|\\.)*)"/g)].map(
    ([, label = '', said = '']) => `${label}="${secretExtent(label) === undefined ? redacted(said) : '***'}"`,
  );
  return `${metric}${inner === undefined ? '' : `{${labels.join(',')}}`} ${value}`;
}
