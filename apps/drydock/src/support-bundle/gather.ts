import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Event,
  type KubeObject,
  Lease,
  type Resource,
} from '@drydock/api';
import { readYamlDocument } from '@drydock/api/yaml';
import { isForbidden, isNotFound, type KubeClient, readStatusNote, type Selector } from '@drydock/kube';
import { refusedLogins } from '../login-notes.ts';
import { vcenterHealth } from '../vcenter-notes.ts';
import { VERSION } from '../version.ts';
import type { Bundle } from './bundle.ts';
import { type Fields, type LeftOut, pick } from './fields.ts';
import type { BundledKind } from './foreign-kind.ts';
import { DEPLOYMENT, EVENT, FOREIGN_KINDS, LEASE, OWN_META, POD } from './kinds.ts';
import { shownLog, shownMetrics } from './log-lines.ts';
import { shownArguments } from './operator-flags.ts';
import { redacted } from './secret-redaction.ts';

/** Objects of one kind. */
const MOST_OBJECTS = 1_000;
const MOST_PODS = 6;
const LOG_LINES = 5_000;
const LOG_BYTES = 2 * 2 ** 20;
const LABEL = 'app.kubernetes.io/name=drydock';
const CRDS = join(import.meta.dirname, '../../../../api/crds');

const Pod: Resource<KubeObject> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' };

interface Gathered {
  readonly client: KubeClient;
  readonly leaseNamespace: string;
  readonly bundle: Bundle;
}

/** Reads what a maintainer needs into a bundle. It asks for no Secret, and writes nothing. */
export async function gather(gathered: Gathered): Promise<void> {
  const { client, bundle, leaseNamespace } = gathered;
  await bundle.add('versions.json', 'versions of programs and of the API server', async (signal) => ({
    drydock: VERSION,
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    server: pick(
      await client.raw({ path: '/version' }, { signal }),
      {
        major: 'kept',
        minor: 'kept',
        gitVersion: 'kept',
        platform: 'kept',
        emulationMajor: 'kept',
        emulationMinor: 'kept',
      },
      bundle.left,
      'versions.server',
    ),
  }));
  await definitions(gathered);
  await kinds(gathered);
  await bundle.add('operator/leases.json', 'who leads, and what cannot be written', async (signal) => {
    const leases = await listed(client, Lease, { namespace: leaseNamespace }, signal);
    return leases
      .filter(({ metadata }) => metadata.name.startsWith('drydock-'))
      .map((lease) => ({
        ...(pick(lease, LEASE, bundle.left, 'leases') as object),
        statuses: pick(readStatusNote(lease.metadata.annotations), NOTES, bundle.left, 'leases.statuses'),
      }));
  });
  await bundle.add('operator/ledgers.json', 'what ledgers and notes keep, by size', async (signal) => {
    const maps = await listed(
      client,
      ConfigMap,
      { namespace: leaseNamespace, labels: 'app.kubernetes.io/managed-by=drydock' },
      signal,
    );
    return maps.map(({ metadata, data = {} }) => {
      const sizes = Object.values(data).map((text) => Buffer.byteLength(text));
      bundle.left.set('ledgers.data', (bundle.left.get('ledgers.data') ?? 0) + sizes.length);
      return {
        metadata: pick(metadata, OWN_META, bundle.left, 'ledgers.metadata'),
        entries: sizes.length,
        bytes: sizes,
      };
    });
  });
  await bundle.add('operator/logins.json', 'logins that vCenters refused', async () =>
    (await refusedLogins(client, leaseNamespace)).map((note) =>
      pick(note, { server: 'kept', first: 'kept', last: 'kept', count: 'kept', next: 'kept' }, bundle.left, 'logins'),
    ),
  );
  await bundle.add('operator/vcenters.json', 'vCenters, as the operator said last', async (signal) =>
    pick(
      await vcenterHealth(client, { namespace: leaseNamespace, now: new Date(), signal }),
      HEALTH,
      bundle.left,
      'vcenters',
    ),
  );
  await bundle.add('events.json', 'what Drydock told in Events', (signal) => events(client, bundle.left, signal));
  await operator(gathered);
}

const NOTES: Fields = {
  degraded: 'kept',
  blocked: 'kept',
  more: 'kept',
  named: [{ definition: 'kept', object: 'kept', state: 'kept', since: 'kept', why: 'kept' }],
};
const HEALTH: Fields = {
  kind: 'kept',
  why: 'kept',
  value: [
    {
      server: 'kept',
      asOf: 'kept',
      version: 'kept',
      sessions: 'kept',
      trouble: 'kept',
      datastores: [{ path: 'kept', accessible: 'kept', free: 'kept', failureDomains: ['kept'] }],
    },
  ],
};

async function listed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  where: Selector,
  signal: AbortSignal,
  keep: (object: T) => boolean = () => true,
): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const object of client.list(resource, where, { signal })) {
    if (!keep(object)) continue;
    found.push(object);
    if (found.length === MOST_OBJECTS) break;
  }
  return found;
}

/** Schemas by their hash: whether they are this version's, and not what they say. */
async function definitions({ client, bundle }: Gathered): Promise<void> {
  await bundle.add('definitions.json', 'definitions of kinds, their schemas by hash', async (signal) => {
    const found = await listed(client, CustomResourceDefinition, {}, signal, ({ spec }) =>
      /(?:^|\.)(?:drydock\.dev|openshift\.io|x-k8s\.io|vmware\.com)$/.test(spec.group),
    );
    return found.map(({ metadata, spec, status }) => ({
      name: redacted(metadata.name),
      generation: metadata.generation,
      versions: spec.versions.map(({ name, served, storage, schema }) => ({
        ...{ name: redacted(name), served, storage },
        schema: hashOf(schema?.openAPIV3Schema),
      })),
      ...(pick(
        status,
        { storedVersions: ['kept'], conditions: DEFINITION_CONDITIONS },
        bundle.left,
        'definitions.status',
      ) as object | undefined),
      // Of the definition that this version ships.
      ...own(metadata.name),
    }));
  });
}

const DEFINITION_CONDITIONS: Fields = [{ type: 'kept', status: 'kept', reason: 'kept', message: 'kept' }];

function own(name: string): { readonly shipped?: string } {
  const found = shipped().find((crd) => `${crd.plural}.${crd.group}` === name);
  return found === undefined ? {} : { shipped: hashOf(found.schema) };
}

function hashOf(schema: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(ordered(schema ?? null)))
    .digest('hex');
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, ordered(one)]));
}

interface Shipped {
  readonly group: string;
  readonly plural: string;
  readonly version: string;
  readonly schema: Schema;
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** Definitions of ours, as they come with this version. */
function shipped(): readonly Shipped[] {
  return readdirSync(CRDS)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => {
      const { spec } = readYamlDocument(readFileSync(join(CRDS, name), 'utf8')) as unknown as CustomResourceDefinition;
      const [version] = spec.versions;
      const schema = (version?.schema?.openAPIV3Schema ?? {}) as Schema;
      return { group: spec.group, plural: spec.names.plural, version: version?.name ?? '', schema };
    });
}

/** The fields that a schema names; `name` is that of the field that it describes. */
function fieldsOf(schema: Schema, name = ''): Fields {
  if (schema.items !== undefined) return [fieldsOf(schema.items)];
  const { properties, additionalProperties: others } = schema;
  if (properties !== undefined)
    return Object.fromEntries(Object.entries(properties).map(([field, one]) => [field, fieldsOf(one, field)]));
  if (typeof others === 'object') return { '*': fieldsOf(others) };
  return DIGESTS.has(name) ? 'digest' : 'kept';
}

/** Fields of ours that have a digest, or an id that is part of one. */
const DIGESTS: ReadonlySet<string> = new Set(['digest', 'sha256', 'operation']);

function ownKinds(): readonly BundledKind[] {
  return shipped().map(({ group, plural, version, schema }) => ({
    ...{ group, plural, version, file: `drydock/${plural}`, about: `objects of ${plural}.${group}` },
    fields: { ...(fieldsOf({ properties: schema.properties ?? {} }) as object), metadata: OWN_META },
  }));
}

async function kinds({ client, bundle }: Gathered): Promise<void> {
  let served: ReadonlyMap<string, readonly string[]> | undefined;
  await bundle.add('groups.json', 'what the API server serves', async (signal) => {
    const { groups = [] } = (await client.raw({ path: '/apis' }, { signal })) as {
      readonly groups?: readonly {
        readonly name?: string;
        readonly versions?: readonly { readonly version?: string }[];
      }[];
    };
    served = new Map(groups.map(({ name = '', versions = [] }) => [name, versions.map(({ version = '' }) => version)]));
    return Object.fromEntries([...served].map(([name, versions]) => [redacted(name), versions.map(redacted)]));
  });
  for (const { file, about, group, version, plural, fields } of [...ownKinds(), ...FOREIGN_KINDS]) {
    const versions = served?.get(group);
    // A cluster without them is as it should be.
    if (served !== undefined && versions === undefined) continue;
    const chosen = versions?.includes(version) === false ? (versions[0] ?? version) : version;
    await bundle.add(`${file}.json`, about, async (signal) => {
      const resource: Resource<KubeObject> = { group, version: chosen, kind: plural, plural, scope: 'Namespaced' };
      try {
        const found = await listed(client, resource, {}, signal);
        return found.length === 0 ? undefined : found.map((one) => pick(one, fields, bundle.left, plural));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    });
  }
}

async function events(client: KubeClient, left: LeftOut, signal: AbortSignal): Promise<unknown> {
  const ours = (event: Event): boolean =>
    (event.reportingController ?? '').includes('drydock') ||
    (event.regarding?.apiVersion ?? '').startsWith('drydock.dev/');
  return (await listed(client, Event, {}, signal, ours))
    .toSorted((a, b) => (a.eventTime < b.eventTime ? -1 : 1))
    .map((event) => pick(event, EVENT, left, 'events'));
}

interface Container {
  readonly name?: string;
  readonly args?: readonly unknown[];
  readonly env?: readonly { readonly name?: string }[];
}

async function operator({ client, bundle }: Gathered): Promise<void> {
  let pods: readonly KubeObject[] = [];
  await bundle.add('operator/deployments.json', 'Deployments: flags, names of variables, state', async (signal) =>
    (await listed(client, Deployment, { labels: LABEL }, signal)).map((deployment) => {
      const { spec } = deployment as {
        readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } } };
      };
      return {
        ...(pick(deployment, DEPLOYMENT, bundle.left, 'deployments') as object),
        flags: (spec?.template?.spec?.containers ?? []).map(({ name = '', args = [], env = [] }) => ({
          container: redacted(name),
          args: shownArguments(args),
          variables: env.map((one) => redacted(one.name ?? '')),
        })),
      };
    }),
  );
  await bundle.add('operator/pods.json', 'pods: where, how often started, why ended', async (signal) => {
    pods = await listed(client, Pod, { labels: LABEL }, signal);
    return pods.map((pod) => pick(pod, POD, bundle.left, 'pods'));
  });
  for (const { metadata, ...pod } of pods.slice(0, MOST_PODS)) {
    const { namespace = 'default', name } = metadata;
    const file = fileName(name);
    const at = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/`;
    await bundle.add(`metrics/${file}.prom`, 'metrics', async (signal) =>
      shownMetrics(
        textOf(
          await client.raw(
            { path: `${at}${encodeURIComponent(name)}:8081/proxy/metrics`, accept: 'text/plain' },
            { signal },
          ),
        ),
      ),
    );
    const { containers = [] } = (pod as { readonly spec?: { readonly containers?: readonly Container[] } }).spec ?? {};
    for (const container of containers.slice(0, 3).map((one) => one.name ?? ''))
      for (const previous of [false, true])
        await bundle.add(
          `logs/${file}.${fileName(container)}${previous ? '.previous' : ''}.log`,
          'log',
          async (signal) => {
            const query = `container=${encodeURIComponent(container)}&tailLines=${LOG_LINES}&limitBytes=${LOG_BYTES}${previous ? '&previous=true' : ''}`;
            try {
              const log = textOf(
                await client.raw({ path: `${at}${encodeURIComponent(name)}/log?${query}`, accept: '*/*' }, { signal }),
              );
              return shownLog(log, bundle.left, 'logs');
            } catch (error) {
              // Most were never started twice.
              if (previous && !isForbidden(error)) return undefined;
              throw error;
            }
          },
        );
  }
}

/** A name from the cluster as part of a file's: it leads to no other folder. */
function fileName(name: string): string {
  return redacted(name)
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, 100);
}

/** One line of JSON comes as what it says. */
function textOf(answer: unknown): string {
  return typeof answer === 'string' ? answer : JSON.stringify(answer);
}
