import { type Crd, ERAS, type Era, type Finding, type JsonObject, judgeKind, readCrd } from '@drydock/crd';
import { eachOf, isComposite, type Kind, sorted } from './crd-differential.ts';
import { type Answer, CRDS, type CrdServer, headOf, PROBE, pathOf } from './crd-server.ts';

// What a preflight says of a stored object before its definition changes, and what a server does to the object afterwards.

/** What a preflight and a server do not say the same about. `over`: it was foretold and did not happen; `under`: it happened, and nobody had said so. */
export interface Miss {
  readonly kind: 'over' | 'under';
  readonly about: 'read' | 'apply' | 'creation' | 'first status';
  readonly object: string;
  readonly said: readonly string[];
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly server: string;
}

/** What came of it: how often each thing was foretold and happened. */
export interface Foretold {
  readonly misses: readonly Miss[];
  readonly clean: number;
  readonly undecided: number;
  readonly agreed: Readonly<Record<Miss['about'], number>>;
}

/** The definition as the server has it. */
export async function liveCrd(server: CrdServer, { name }: Crd): Promise<Crd> {
  const { object } = await server.call({ method: 'GET', path: `${CRDS}/${name}` });
  return readCrd(object, name);
}

/** All objects of a definition, without what a server counts. */
export async function shown(server: CrdServer, crd: Crd): Promise<ReadonlyMap<string, JsonObject>> {
  const { object } = await server.call({ method: 'GET', path: pathOf(crd) });
  const items = (object['items'] ?? []) as readonly JsonObject[];
  return new Map(items.map((item) => [nameOf(item), withoutOwners(item)]));
}

function nameOf(object: JsonObject): string {
  return (object['metadata'] as { readonly name: string }).name;
}

function withoutOwners(object: JsonObject): JsonObject {
  const { managedFields: _owners, ...metadata } = object['metadata'] as JsonObject;
  return { ...object, metadata };
}

/** Judges what is there, changes the definitions to those of the kinds, and compares. */
export async function foretell(server: CrdServer, kinds: readonly Kind[], era: Era): Promise<Foretold> {
  const judged = await Promise.all(
    kinds.map(async ({ crd }) => {
      const now = await liveCrd(server, crd);
      return { now, before: await shown(server, crd) };
    }),
  );
  await Promise.all(kinds.map(({ crd }) => server.install(crd)));
  const misses: Miss[] = [];
  const count = { clean: 0, undecided: 0 };
  const agreed = { read: 0, apply: 0, creation: 0, 'first status': 0 };
  await eachOf(
    kinds.map(({ crd }, at) => ({ crd, ...(judged[at] as (typeof judged)[number]) })),
    async ({ before, crd, now }) => {
      const target = await liveCrd(server, crd);
      const kind = judgeKind(now, target, { now: ERAS.E2, target: ERAS[era] });
      const objects = await shown(server, target);
      for (const [name, object] of before) {
        const after = objects.get(name) as JsonObject;
        const findings = kind.judge(object);
        if (findings.length === 0) count.clean += 1;
        if (findings.some((finding) => finding.class === 'UNDECIDED')) {
          count.undecided += 1;
          continue;
        }
        const happened = await whatHappens(server, target, object, after, era);
        for (const [about, { server: words, is }] of Object.entries(happened) as [Miss['about'], Happened][]) {
          const says = isForetold(about, findings, target);
          if (says === undefined || is === undefined) continue;
          if (says === is) agreed[about] += says ? 1 : 0;
          else
            misses.push({
              ...{ kind: says ? 'over' : 'under', about, object: `${crd.name} ${name}`, before: object, after },
              said: findings.map((one) => `${one.class} ${one.rule} ${one.path} ${one.what}`),
              server: words,
            });
        }
      }
    },
  );
  return { ...count, agreed, misses };
}

interface Happened {
  /** undefined: it was not tried. */
  readonly is: boolean | undefined;
  readonly server: string;
}

async function whatHappens(
  server: CrdServer,
  crd: Crd,
  before: JsonObject,
  after: JsonObject,
  era: Era,
): Promise<Readonly<Record<Miss['about'], Happened>>> {
  const name = nameOf(after);
  const head = headOf(crd, name);
  const bare = { ...head, metadata: { name, labels: { touched: 'yes' } } };
  const { metadata: _metadata, status, ...rest } = after;
  const at = (part = ''): string => `${pathOf(crd, name, part)}?dryRun=All`;
  const merged = await server.call({ method: 'PATCH', path: at(), type: 'application/merge-patch+json', body: bare });
  const apply = (part: string, body: object): Promise<Answer> => {
    const path = `${at(part)}&fieldManager=foretold&force=true`;
    return server.call({ method: 'PATCH', path, type: 'application/apply-patch+yaml', body });
  };
  const applied = [await apply('', bare), await apply('', { ...rest, ...bare })];
  if (status !== undefined) applied.push(await apply('/status', { ...head, status }));
  const failed = applied.find((answer) => answer.status === 500);
  const created = await server.call({
    method: 'POST',
    path: `${pathOf(crd)}?dryRun=All`,
    body: { ...after, ...headOf(crd, `${name}-again`) },
  });
  const first = await server.call({ method: 'PUT', path: at('/status'), body: { ...after, status: {} } });
  // A branch of a junctor that the empty status does not fit is no demand.
  // And a server of E0 names what is in a status as if it were outside.
  const isOpen =
    status === undefined &&
    era !== 'E0' &&
    !first.causes.some((cause) => isComposite(cause) && cause.field === 'status');
  const refused = first.causes.filter(
    ({ field, reason }) => !field.startsWith('status') || reason === 'FieldValueRequired',
  );
  return {
    read: { is: textOf(before) !== textOf(after), server: JSON.stringify(after) },
    apply: { is: merged.status >= 300 ? undefined : failed !== undefined, server: failed?.message ?? '' },
    creation: { is: created.status >= 300, server: created.message },
    'first status': { is: isOpen ? refused.length > 0 : undefined, server: first.message },
  };
}

function textOf(object: JsonObject): string {
  const { metadata: _metadata, [PROBE]: _probe, ...rest } = object;
  return JSON.stringify(sorted(rest));
}

/** undefined: the findings do not decide it. */
function isForetold(about: Miss['about'], findings: readonly Finding[], crd: Crd): boolean | undefined {
  const of = (...classes: readonly string[]): readonly Finding[] =>
    findings.filter((finding) => classes.includes(finding.class));
  const refusing = findings.filter((finding) => !['PRUNE', 'DEFAULT_SHIFT', 'BLOCK_SSA'].includes(finding.class));
  const hasStatus = crd.versions.some(({ status }) => status);
  switch (about) {
    case 'read':
      return of('PRUNE', 'DEFAULT_SHIFT').length > 0;
    case 'apply':
      return of('BLOCK_SSA').length > 0;
    case 'creation':
      // Without its status a rule may say something else.
      if (of('ROOT_CEL', 'IMMUTABLE').length > 0) return undefined;
      return refusing.some(({ path, rule }) => !hasStatus || !/^status(?:[.[]|$)/.test(path) || isLacking(path, rule));
    case 'first status':
      return refusing.some(({ endpoints }) => endpoints.includes('status'));
  }
}

/** The root requires a status. */
function isLacking(path: string, rule: string): boolean {
  return path === 'status' && rule === 'N9';
}
