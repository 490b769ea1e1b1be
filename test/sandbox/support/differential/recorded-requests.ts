import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CoverageTable } from './coverage-table.ts';
import type { ObjectKind, RequestClass } from './planned-request.ts';
import { placeOf } from './write-requests.ts';

/** One class of requests a line; `packages/sandbox/src/recording/merge-recorded-requests.ts` writes it. */
const FILE = join(import.meta.dirname, 'recorded-requests.jsonl');

/** Subresources that stream or pass on bytes: the embedded server answers 501, and nothing of them can be compared. */
const STREAMED = /^\/(?:pods|services|nodes)\/(?:exec|attach|portforward|proxy)$/;

/** What the whole test suite and a kubectl session ask of API servers. */
export function recordedRequests(): readonly RequestClass[] {
  const lines = readFileSync(FILE, 'utf8').split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [verb, patch, kind] = JSON.parse(line) as [string, string, string];
      return { verb, patch, kind };
    });
}

/** Which of them histories did not ask. A custom kind that only a test installs is represented by any custom kind. */
export function uncovered(
  recorded: readonly RequestClass[],
  coverage: CoverageTable,
  kinds: readonly ObjectKind[],
): readonly RequestClass[] {
  const builtIn = new Map(kinds.filter((kind) => kind.builtIn).map((kind) => [placeOf(kind), kind]));
  const custom = kinds.filter((kind) => !kind.builtIn).map((kind) => placeOf(kind));
  return recorded.filter((one) => {
    if (STREAMED.test(one.kind) || coverage.of(one) > 0) return false;
    const [group = '', plural = '', ...sub] = one.kind.split('/');
    const own = builtIn.get(`${group}/${plural}`);
    // A subresource that the kind does not have is not found.
    if (own !== undefined) return sub.length === 0 || own.subresources.some(({ name }) => name === sub[0]);
    // A kind of Kubernetes that the pinned server does not serve: it is asked for, and not found.
    if (!group.includes('.') || group.endsWith('.k8s.io')) return false;
    return !custom.some((place) => coverage.of({ ...one, kind: [place, ...sub].join('/') }) > 0);
  });
}
