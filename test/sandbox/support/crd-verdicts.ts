import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Era, JsonObject } from '@drydock/crd';
import { isComposite, isUnchecked, type Kind, viewOf } from './crd-differential.ts';
import { type Answer, type Call, type CrdServer, pathOf } from './crd-server.ts';

/** Answers of a server to dry runs, by path and name, in the order of asking: `200`, or the causes of a refusal as `reason field`, with `!` before what a failed junctor adds and `?` for rules that were not asked. */
export interface Verdicts {
  /** Of the definitions and objects that were asked about. */
  readonly digest: string;
  readonly answers: Readonly<Partial<Record<Era, Readonly<Record<string, readonly string[]>>>>>;
}

const FILE = join(import.meta.dirname, 'crd-verdicts.json.gz');
const SHORT: Readonly<Record<string, string>> = {
  '!': 'must validate one (anyOf)',
  '?': 'validation rules were not checked',
};

/** What is asked about; another generator asks something else. */
export function digestOf(kinds: readonly Kind[]): string {
  const text = JSON.stringify(kinds.map(({ crd, subjects }) => [crd.manifest, subjects]));
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Reads what was recorded. */
export function readVerdicts(): Verdicts {
  return JSON.parse(gunzipSync(readFileSync(FILE)).toString()) as Verdicts;
}

/** Writes what was recorded. */
export function writeVerdicts(verdicts: Verdicts): void {
  writeFileSync(FILE, gzipSync(JSON.stringify(verdicts), { level: 9 }));
}

/** A server that writes down what it answers. */
export function recording(server: CrdServer, into: Record<string, string[]>): CrdServer {
  return {
    ...server,
    call: async (call) => {
      const answer = await server.call(call);
      if (call.method !== 'GET') {
        const key = keyOf(call);
        into[key] = [...(into[key] ?? []), encode(answer)];
      }
      return answer;
    },
  };
}

/** A server that repeats what one answered. Objects it shows as this project reads them. */
export function replaying(kinds: readonly Kind[], recorded: Readonly<Record<string, readonly string[]>>): CrdServer {
  const objects = new Map<string, JsonObject>();
  for (const kind of kinds)
    for (const subject of kind.subjects) objects.set(pathOf(kind.crd, subject.name), viewOf(kind, subject));
  const asked = new Map<string, number>();
  const call = (one: Call): Promise<Answer> => {
    const { method, path } = one;
    if (method === 'GET') return Promise.resolve({ ...decode('200'), object: objects.get(path) ?? {} });
    const key = keyOf(one);
    const times = asked.get(key) ?? 0;
    asked.set(key, times + 1);
    const line = recorded[key]?.[times];
    return line === undefined ? Promise.reject(new Error(`no verdict on ${key}`)) : Promise.resolve(decode(line));
  };
  const install = (): Promise<number> => Promise.reject(new Error('a recorded server takes no definitions'));
  return { call, install, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Objects are asked about side by side, so a creation needs its name. */
function keyOf({ body, path }: Call): string {
  const { metadata } = body as { readonly metadata: { readonly name: string } };
  return `${path} ${metadata.name}`;
}

function encode({ causes, status }: Answer): string {
  if (status !== 422) return `${status}`;
  return causes
    .map((cause) => `${isComposite(cause) ? '!' : isUnchecked(cause) ? '?' : ''}${cause.reason} ${cause.field}`)
    .join('\n');
}

function decode(line: string): Answer {
  const rest = { message: '', warnings: [], object: {} };
  if (/^\d+$/.test(line)) return { status: Number(line), causes: [], ...rest };
  const causes = line.split('\n').map((one) => {
    const [, mark = '', reason = '', field = ''] = /^([!?]?)(\S+) (.*)$/.exec(one) ?? [];
    return { reason, field, message: SHORT[mark] ?? '' };
  });
  return { status: 422, causes, ...rest };
}
