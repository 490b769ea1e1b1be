import {
  applyDefaults,
  type Crd,
  type CrdVersion,
  ERAS,
  type Era,
  type JsonObject,
  judge,
  prune,
  type Schema,
} from '@drydock/crd';
import { ApiError, isConflict, isNotFound, type KubeObject, systemClock } from '@drydock/kube';
import { applyPayload } from '../apply/apply.ts';
import { configMapInventory } from '../apply/inventory/config-maps.ts';
import { select } from '../inclusion/selection.ts';
import { readManifestFile } from '../payload/manifest.ts';
import { versionHash } from '../payload/version-hash.ts';
import { begin, type Evidence, type Script } from './evidence.ts';
import { operatorUser } from './operator-actor.ts';
import { operatorStatus, withFewerWords } from './operator-status.ts';
import { operatorsAct, playable } from './play.ts';
import { componentOf } from './rehearsed-release.ts';
import { resourceOf } from './snapshot.ts';
import { MANAGER_NAMESPACE, type Stage } from './stage.ts';

/** What becomes of writes. `undecided`: only a server knows. */
export type WriteFate = 'refused' | 'taken' | 'undecided';

/** `status`: by its operator, which leaves alone what it does not know. `main`: a label, by a person. `words`: by its operator, which takes a word out of a list that has some that it does not know. */
export type ControlWrite = 'status' | 'main' | 'words';

/** One kind of write of one object after a way back that nobody prepared. */
export interface ControlCell {
  readonly definition: string;
  readonly object: string;
  readonly write: ControlWrite;
  readonly predicted: WriteFate;
  readonly observed: 'refused' | 'taken' | 'not tried';
  /** What the server said, where it refused. */
  readonly said: string;
  /** Status writes of the same object by its operators while Drydock went back. */
  readonly prepared: { readonly taken: number; readonly refused: number };
}

/**
 * The negative control: the same way back as upstream goes it, definitions first, with operators that write what they remember. Each write must be refused or taken as the classes of narrowing say. The cluster
 * is broken afterwards.
 */
export async function playControl(stage: Stage, script: Script, evidence: Evidence): Promise<readonly ControlCell[]> {
  const { signal } = script;
  const { era } = stage;
  begin(evidence, 'Control');
  await stage.managers.dismiss();
  await stage.act('legacy');
  await operatorsAct(stage, script, stage.newer.version, 1);
  const stored = await storedObjects(stage, evidence, signal);
  const since = Date.now();
  await goBackUnprepared(stage, signal);
  await operatorsAct(stage, script, stage.older.version, 2);
  const cells: ControlCell[] = [];
  for (const { crd, object } of stored) {
    const older = stage.older.crds.get(crd.name);
    const version = older?.versions.find((one) => one.storage && one.served);
    if (older === undefined || version?.schema === undefined) continue;
    const { metadata } = object as unknown as KubeObject;
    const predicted = predictedFates(object, { ...version, schema: version.schema }, era);
    const user = operatorUser(componentOf(crd), stage.older.version);
    const writes = stage.audit
      .calls()
      .filter(
        (call) =>
          call.user === user &&
          call.at >= since &&
          call.resource === `${crd.plural}/status` &&
          call.group === crd.group &&
          call.name === metadata.name &&
          (call.code === 200 || call.code === 422),
      );
    const refused = writes.find(({ code }) => code === 422);
    const prepared = preparedWrites(stage, evidence, crd, metadata);
    cells.push({
      ...{ definition: crd.name, object: metadata.name, write: 'status', predicted: predicted.status },
      observed: refused !== undefined ? 'refused' : writes.length > 0 ? 'taken' : 'not tried',
      ...{ said: refused?.message ?? '', prepared },
    });
    const tried = (write: ControlWrite, fate: WriteFate, said: string): void => {
      const observed = said === '' ? 'taken' : 'refused';
      cells.push({ definition: crd.name, object: metadata.name, write, predicted: fate, observed, said, prepared });
    };
    tried('main', predicted.main, await labelled(stage, older, metadata, signal));
    if (predicted.words !== undefined)
      tried(
        'words',
        predicted.words,
        await shortened(stage, { older, user, schema: version.schema }, metadata, signal),
      );
  }
  return cells;
}

function preparedWrites(
  { audit }: Stage,
  { scenes }: Evidence,
  { group, plural }: Crd,
  { name, namespace = '' }: KubeObject['metadata'],
): ControlCell['prepared'] {
  const back = scenes.find(({ scene }) => scene === 'Back');
  const codes = audit
    .calls()
    .filter((call) => call.group === group && call.resource === `${plural}/status` && !call.dryRun)
    .filter((call) => call.name === name && call.namespace === namespace && call.user.startsWith('operator-'))
    .filter(({ at }) => back !== undefined && at >= back.from && at < back.to)
    .map(({ code }) => code);
  return {
    taken: codes.filter((code) => code === 200).length,
    refused: codes.filter((code) => code === 422).length,
  };
}

/** What a server of an era answers to each write. Without `words` there is no list to take one out of. Pure. */
export function predictedFates(
  object: JsonObject,
  version: CrdVersion & { readonly schema: Schema },
  era: Era,
): Readonly<Record<'status' | 'main', WriteFate>> & { readonly words?: WriteFate } {
  const { schema, status: hasStatus } = version;
  const stored = applyDefaults(prune(object, schema).value, schema) as JsonObject;
  const means = operatorStatus(stored, { own: version, memory: stored, round: 1 });
  const metadata = stored['metadata'] as JsonObject;
  const labels = { ...(metadata['labels'] as JsonObject | undefined), rehearsal: 'control' };
  const shorter = withFewerWords(stored, schema);
  const fate = (endpoint: 'status' | 'main', next: JsonObject): WriteFate => {
    const { causes, doubts } = judge({ endpoint, next, stored, schema, hasStatus }, ERAS[era]);
    return causes.length > 0 ? 'refused' : doubts.length > 0 ? 'undecided' : 'taken';
  };
  return {
    status: fate('status', { ...stored, status: means }),
    main: fate('main', { ...stored, metadata: { ...metadata, labels } }),
    ...(shorter === undefined ? {} : { words: fate('status', { ...stored, status: shorter }) }),
  };
}

interface StoredObject {
  readonly crd: Crd;
  readonly object: JsonObject;
}

async function storedObjects(stage: Stage, evidence: Evidence, signal: AbortSignal): Promise<readonly StoredObject[]> {
  const found: StoredObject[] = [];
  for (const body of playable(evidence.exercises)) {
    const { kind, metadata } = body as unknown as KubeObject & { readonly kind: string };
    const crd = [...stage.newer.crds.values()].find(
      (one) => one.kind === kind && `${body['apiVersion'] as string}`.startsWith(`${one.group}/`),
    );
    const resource = crd === undefined ? undefined : resourceOf(crd);
    if (crd === undefined || resource === undefined) continue;
    found.push({ crd, object: (await stage.client.get(resource, metadata, { signal })) as unknown as JsonObject });
  }
  return found;
}

/** As upstream: in the order of the update, each definition whole, without a look at what is stored. */
async function goBackUnprepared({ client, older, images, subject }: Stage, signal: AbortSignal): Promise<void> {
  const audience = { profile: undefined, featureSet: 'Default', gates: new Set<string>(), majorVersion: 1 };
  const manifests = [...older.files]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, text]) => readManifestFile(name, text));
  const { included } = select(manifests, { audience });
  const { complete, errors } = await applyPayload(
    {
      payload: { version: older.version, image: images.older, hash: versionHash(included) },
      ...{ manifests: included, mode: 'updating', attempt: 0, owner: { name: subject.owner } },
    },
    {
      ...{ client, clock: systemClock, signal, onProgress: () => undefined },
      inventory: configMapInventory({ client, namespace: MANAGER_NAMESPACE }),
    },
  );
  const [first] = errors;
  if (!complete && first !== undefined) throw new Error(`the control cannot go back: ${first.message}`);
}

/** What the server says to an operator that writes an object with fewer words; '' where it takes it. A dry run: the next object is looked at as this one was. */
async function shortened(
  stage: Stage,
  { older, user, schema }: { readonly older: Crd; readonly user: string; readonly schema: Schema },
  { name, namespace }: KubeObject['metadata'],
  signal: AbortSignal,
): Promise<string> {
  const resource = resourceOf(older);
  if (resource === undefined) return '';
  const client = await stage.clientOf(user);
  const key = namespace === undefined ? { name } : { name, namespace };
  for (;;) {
    const now = await client.get(resource, key, { signal });
    const status = withFewerWords(now as unknown as JsonObject, schema);
    try {
      await client.replaceStatus(resource, { ...now, status } as KubeObject, { dryRun: true, signal });
      return '';
    } catch (error) {
      if (!(error instanceof ApiError) || isNotFound(error)) throw error;
      // Its operator writes meanwhile.
      if (!isConflict(error)) return error.message;
    }
  }
}

/** What the server says to a label; '' where it takes it. */
async function labelled(
  { client }: Stage,
  older: Crd,
  { name, namespace }: KubeObject['metadata'],
  signal: AbortSignal,
): Promise<string> {
  const resource = resourceOf(older);
  if (resource === undefined) return '';
  const key = namespace === undefined ? { name } : { name, namespace };
  try {
    await client.mergePatch(resource, key, { metadata: { labels: { rehearsal: 'control' } } }, { signal });
    return '';
  } catch (error) {
    if (!(error instanceof ApiError) || isNotFound(error)) throw error;
    return error.message;
  }
}
