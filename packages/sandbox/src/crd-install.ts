import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { Api, ApiAnswer } from './api.ts';
import { crdDirectory } from './crd-copy.ts';
import { CRD_SETS, findCrdSet, OPENSHIFT } from './crd-sets.ts';
import { aborted, SandboxError } from './errors.ts';

const COLLECTION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const DEADLINE_MS = 60_000;

/** One served version of a custom kind, as its list path. */
export interface ServedKind {
  /** CRD name, as `machinesets.machine.openshift.io`. */
  readonly crd: string;
  readonly listPath: string;
}

interface Crd {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

interface CrdList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    // null on a CRD that was just created.
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null };
  }[];
}

/** The set's name for `openshift` and for a set; undefined for a path. */
export function crdSetName(source: string): string | undefined {
  if (source === 'openshift') return OPENSHIFT;
  return findCrdSet(source)?.name;
}

function filesOf(source: string): readonly string[] {
  const name = crdSetName(source);
  const set = name === undefined ? undefined : findCrdSet(name);
  const path = set === undefined ? source : crdDirectory(set);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    throw new SandboxError(
      'BadInput',
      `There is no CRD file or folder ${path}; name an existing path or a set (openshift, ${CRD_SETS.map((one) => one.name).join(', ')}).`,
    );
  }
  return stat.isDirectory() ? globSync(join(path, '*.{yaml,yml,json}')).sort() : [path];
}

function readCrds(sources: readonly string[]): readonly Crd[] {
  const found = new Map<string, Crd>();
  for (const file of sources.flatMap(filesOf)) {
    for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
      const value = document.toJS() as Crd | null;
      if (value === null || value.kind !== 'CustomResourceDefinition') continue;
      found.set(value.metadata.name, value);
    }
  }
  if (found.size === 0 && sources.length > 0) {
    throw new SandboxError(
      'BadInput',
      `No CustomResourceDefinition in ${sources.join(', ')}; name YAML files that hold one.`,
    );
  }
  return [...found.values()];
}

const message = (answer: ApiAnswer): string =>
  typeof answer.body === 'object' && answer.body !== null && 'message' in answer.body
    ? String(answer.body.message)
    : String(answer.body);

async function post(api: Api, crd: Crd, signal: AbortSignal): Promise<void> {
  let answer = await api.call('POST', `${COLLECTION}?fieldManager=drydock-sandbox`, { body: crd, signal });
  if (answer.status === 409) {
    const path = `${COLLECTION}/${crd.metadata.name}?fieldManager=drydock-sandbox&force=true`;
    answer = await api.call('PATCH', path, { body: crd, type: 'application/apply-patch+yaml', signal });
  }
  if (answer.status >= 300) {
    throw new SandboxError(
      'CrdRefused',
      `The API server refuses the CRD ${crd.metadata.name} (${answer.status}): ${message(answer)}`,
    );
  }
}

async function until(what: string, signal: AbortSignal, done: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await done())) {
    if (signal.aborted) throw aborted(what, signal);
    if (Date.now() > deadline) {
      throw new SandboxError(
        'NotReady',
        `${what} took more than ${DEADLINE_MS / 1000} s; look at kube-apiserver.log, or try again.`,
        { retriable: true },
      );
    }
    await delay(25);
  }
}

/**
 * Lists each kind once: after an install and after a start of the server the first LIST or WATCH of a custom kind is
 * answered 429, however long one has waited before.
 */
export async function warm(api: Api, kinds: readonly ServedKind[], signal: AbortSignal): Promise<void> {
  await Promise.all(
    kinds.map((kind) =>
      until(`serving ${kind.crd}`, signal, async () => {
        const { status } = await api.call('GET', `${kind.listPath}?limit=1`, { signal });
        return status === 200;
      }),
    ),
  );
}

/**
 * Installs CRDs from files, folders and sets, all at once (the first object of a kind within 2 s of its CRD's
 * establishment is held by the server), waits until each is established, and warms each served version. CRDs that
 * are already there are replaced.
 */
export async function installCrds(
  api: Api,
  sources: readonly string[],
  signal: AbortSignal,
): Promise<readonly ServedKind[]> {
  const crds = readCrds(sources);
  await Promise.all(crds.map((crd) => post(api, crd, signal)));
  await until('establishing the CRDs', signal, async () => {
    const answer = await api.call('GET', COLLECTION, { signal });
    if (answer.status !== 200) return false;
    const established = new Set(
      (answer.body as CrdList).items
        .filter((item) => item.status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True'))
        .map((item) => item.metadata.name),
    );
    return crds.every((crd) => established.has(crd.metadata.name));
  });
  const kinds = crds.flatMap((crd) =>
    crd.spec.versions
      .filter((version) => version.served)
      .map((version) => ({
        crd: crd.metadata.name,
        listPath: `/apis/${crd.spec.group}/${version.name}/${crd.spec.names.plural}`,
      })),
  );
  await warm(api, kinds, signal);
  return kinds;
}
