import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ClusterVersion, ConfigMap, CustomResourceDefinition, Payload } from '@drydock/api';
import { type Crd, type JsonObject, judge, readCrd } from '@drydock/crd';
import { capabilitiesOf, clusterVersionObject } from '@drydock/crd/testing';
import { isNotFound, type KubeObject } from '@drydock/kube';
import { configMapInventory } from '@drydock/release';
import { fromJSONSchema } from 'zod';
import { eventually } from './kube-kinds.ts';
import { accountNamespace } from './rbac-manifests.ts';
import { type Ran, runRelease } from './release-cli.ts';
import { type ReleaseOperator, type ReleaseRig, startReleaseRig } from './release-rig.ts';
import { type Anything, type RunningWriter, startStatusWriter } from './status-writer.ts';
import { configMap, hook, shop, WIDGET, widgets, worker } from './way-back-objects.ts';

/** The account in whose name everything is applied. */
export const account: { readonly namespace: string; readonly name: string } = {
  namespace: accountNamespace,
  name: 'drydock-payloads',
};
/** The definition of OpenShift that is narrower in 4.13. */
export const CV = 'clusterversions.config.openshift.io';
export const key: { readonly name: string } = { name: 'version' };
/** Capabilities that each release knows. */
export const C13: readonly string[] = capabilitiesOf(13);
/** See {@link C13}. */
export const C14: readonly string[] = capabilitiesOf(14);
const root = resolve(import.meta.dirname, '../../..');

/** Two releases across a minor on a real API server that tolerates nothing that is illegal (era E0), and all that is looked at and done with them. */
export interface WayBackRig extends AsyncDisposable, Pick<ReleaseRig, 'sandbox' | 'client' | 'audit'> {
  /** With the token of its ServiceAccount; writers are waited two seconds for. */
  operator(): Promise<ReleaseOperator>;
  /** Runs `drydock release …`; as an administrator, unless another login is named. */
  ran(args: readonly string[], heard?: Parameters<typeof runRelease>[1]): Promise<Ran>;
  /** Signed images of both releases; each brings the definition that it is given. */
  releases(definitions: (minor: 13 | 14) => JsonObject): Promise<Readonly<Record<13 | 14, string>>>;
  /** To 4.14.0 and into use. */
  inUse(images: Readonly<Record<13 | 14, string>>): Promise<void>;
  /** What only the newer release can hold is stored. */
  used(): Promise<void>;
  /** Nothing is left of it but the namespaces. */
  gone(): Promise<void>;
  /** The same of an owner that is no Payload. */
  unused(owner: { readonly name: string }): Promise<void>;
  statusOf(): Promise<NonNullable<Payload['status']>>;
  /** `STATUS REASON: MESSAGE`; '' where there is none. */
  conditionOf(type: string): Promise<string>;
  /** `VERSION STATE` of the newest entry. */
  headOf(): Promise<string>;
  completed(version: string): Promise<void>;
  wants(spec: object): Promise<Payload>;
  isBridge(name: string): Promise<boolean>;
  isMarked(name: string): Promise<boolean>;
  ledgers(): Promise<number>;
  /** Of the operator that a release brings. */
  operatorVersion(): Promise<string>;
  /** What only the newer release can hold and nobody knows any more. */
  lost(): Promise<readonly string[]>;
  /** Nobody of ours was refused because of a schema, from this call on. */
  assertNeverRefused(from: number): void;
  /** Every stored object fits the definition that the server has now, whatever it tolerates. */
  assertStrict(): Promise<void>;
  /** An operator of a release: it knows the capabilities of that, keeps those that were enabled, and writes on and on. */
  writerOf(known: readonly string[], crd: Crd): Promise<RunningWriter>;
}

/** Starts one. */
export async function startWayBackRig(): Promise<WayBackRig> {
  const rig = await startReleaseRig({ kustomizations: ['release'], namespaces: [shop], era: 'E0' });
  const { sandbox, client, registry, signer, audit } = rig;
  // What is applied here is anything: definitions, webhooks, workloads.
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const body = { metadata: { name: 'payloads' }, roleRef, subjects: [{ kind: 'ServiceAccount', ...account }] };
  await client.raw({ method: 'POST', path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', body });

  const operator = (): Promise<ReleaseOperator> => rig.operator('one', ['--writer-patience', '2']);

  const ran = (args: readonly string[], heard?: Parameters<typeof runRelease>[1]): Promise<Ran> => {
    const own = args.includes('--kubeconfig') ? [] : ['--kubeconfig', sandbox.kubeconfig];
    const leases = args[0] === 'preflight' ? [] : ['--lease-namespace', accountNamespace];
    return runRelease([...args, ...own, '--registry-plain', registry.host, ...leases], heard);
  };

  async function releases(definitions: (minor: 13 | 14) => JsonObject): Promise<Readonly<Record<13 | 14, string>>> {
    const files = (minor: 13 | 14) => ({
      '0000_00_cvo_01_definition.yaml': definitions(minor),
      '0000_10_shop_01_definition.yaml': widgets(minor === 14),
      '0000_10_shop_02_operator.yaml': configMap('operator', { version: `4.${minor}` }),
      ...(minor === 14 ? { '0000_20_shop_01_worker.yaml': worker, '0000_20_shop_02_hook.yaml': hook } : {}),
    });
    return {
      13: await registry.release('4.13.0', files(13), signer),
      14: await registry.release('4.14.0', files(14), signer),
    };
  }

  const payload = (image: string): Payload => ({
    metadata: { name: 'cluster' },
    spec: {
      image,
      serviceAccount: account,
      verify: { keyRings: [{ name: 'ours', keys: signer.publicKey }], stores: [registry.store] },
    },
  });
  const statusOf = async (): Promise<NonNullable<Payload['status']>> =>
    (await client.get(Payload, { name: 'cluster' })).status ?? {};
  const conditionOf = async (type: string): Promise<string> => {
    const found = (await statusOf()).conditions?.find((one) => one.type === type);
    return found === undefined ? '' : `${found.status} ${found.reason}: ${found.message}`;
  };
  const headOf = async (): Promise<string> => {
    const [head] = (await statusOf()).history ?? [];
    return `${head?.version} ${head?.state}`;
  };
  const completed = (version: string): Promise<void> =>
    eventually(`${version} is complete`, async () => (await headOf()) === `${version} Completed`, 300);
  const wants = (spec: object): Promise<Payload> => client.mergePatch(Payload, { name: 'cluster' }, { spec });
  const definitionOf = (name: string): Promise<CustomResourceDefinition> =>
    client.get(CustomResourceDefinition, { name });
  const columnsOf = async (name: string): Promise<readonly string[]> => {
    const { spec } = (await definitionOf(name)) as unknown as {
      readonly spec: {
        readonly versions: readonly { readonly additionalPrinterColumns?: readonly { readonly name: string }[] }[];
      };
    };
    return (spec.versions[0]?.additionalPrinterColumns ?? []).map((one) => one.name);
  };
  const isBridge = async (name: string): Promise<boolean> =>
    (await columnsOf(name)).some((one) => one.startsWith('drydock-bridge-'));
  const operatorVersion = async (): Promise<string> =>
    (await client.get(ConfigMap, { namespace: shop, name: 'operator' })).data?.['version'] ?? '';

  /** What the newer release stored that the older one cannot hold. */
  const LEDGERS = 'app.kubernetes.io/component=rollback-ledger';
  const PRECIOUS = [
    'MachineAPI',
    'DeploymentConfig',
    'ImageRegistry',
    'Draining',
    'note-of-the-new',
    'extra-of-the-new',
  ];

  async function lost(): Promise<readonly string[]> {
    // Writers keep what they leave out beside their own Leases.
    const kept = (await Array.fromAsync(client.list(ConfigMap, { labels: LEDGERS }))).map(({ data }) => data);
    const said = JSON.stringify([
      kept,
      await client.get(ClusterVersion, key),
      await client.get(WIDGET, { name: 'one' }),
    ]);
    return PRECIOUS.filter((one) => !said.includes(one));
  }

  function assertNeverRefused(from: number): void {
    const refused = audit
      .calls()
      .slice(from)
      .filter(({ code }) => code === 422);
    assert.deepEqual(refused, []);
  }

  async function assertStrict(): Promise<void> {
    for (const [name, resource, object] of [
      [CV, ClusterVersion, 'version'],
      ['widgets.shop.example.com', WIDGET, 'one'],
    ] as const) {
      const crd: Crd = readCrd({ kind: 'CustomResourceDefinition', ...(await definitionOf(name)) } as never, name);
      const next = (await client.get(resource as typeof ClusterVersion, { name: object })) as unknown as JsonObject;
      const { causes } = judge(
        { endpoint: 'create', next, schema: crd.versions[0]?.schema ?? {}, hasStatus: false },
        { era: 'E0', minor: 32 },
      );
      assert.deepEqual(causes, [], `${name} ${object}`);
    }
  }

  const writerOf = (known: readonly string[], crd: Crd): Promise<RunningWriter> =>
    startStatusWriter({
      ...{ client, crd, name: 'version', lease: `cvo-${known.length}`, every: 100 },
      means: (status: JsonObject, _object: Anything) => {
        const { enabledCapabilities = [] } = (status['capabilities'] ?? {}) as {
          enabledCapabilities?: readonly string[];
        };
        const enabled = [...new Set([...enabledCapabilities, ...known])].toSorted((a, b) => (a < b ? -1 : 1));
        return {
          ...status,
          capabilities: { enabledCapabilities: enabled, knownCapabilities: known },
          versionHash: new Date().toISOString(),
        };
      },
    });

  async function inUse(images: Readonly<Record<13 | 14, string>>): Promise<void> {
    await client.create(Payload, payload(images[13]));
    await completed('4.13.0');
    await wants({ image: images[14], version: null });
    await completed('4.14.0');
    await used();
  }

  async function used(): Promise<void> {
    const { metadata: _metadata, status, ...version } = clusterVersionObject(14);
    const stored = await client.create(ClusterVersion, { ...version, metadata: key } as never);
    await client.replaceStatus(ClusterVersion, { ...stored, status } as never);
    const one = await client.create(WIDGET, {
      metadata: { name: 'one' },
      spec: { size: 1, extra: 'extra-of-the-new' },
    } as KubeObject);
    await client.replaceStatus(WIDGET, {
      ...one,
      status: { phase: 'Draining', note: 'note-of-the-new' },
    } as KubeObject);
  }

  async function gone(): Promise<void> {
    await client.delete(Payload, { name: 'cluster' });
    await definitionsGone();
  }

  async function unused({ name }: { readonly name: string }): Promise<void> {
    const { signal } = new AbortController();
    await configMapInventory({ client, namespace: accountNamespace }).remove({ name }, signal);
    await definitionsGone();
  }

  async function definitionsGone(): Promise<void> {
    for (const name of [CV, 'widgets.shop.example.com']) await client.delete(CustomResourceDefinition, { name });
    await eventually('the definitions are gone', async () => {
      for (const name of [CV, 'widgets.shop.example.com'])
        try {
          await definitionOf(name);
          return false;
        } catch (error) {
          if (!isNotFound(error)) throw error;
        }
      return true;
    });
  }

  async function isMarked(name: string): Promise<boolean> {
    return (await definitionOf(name)).metadata.annotations?.['drydock.dev/rollback'] !== undefined;
  }

  async function ledgers(): Promise<number> {
    return (await Array.fromAsync(client.list(ConfigMap, { labels: LEDGERS }))).length;
  }

  return {
    ...{ sandbox, client, audit, operator, ran, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() },
    ...{
      releases,
      statusOf,
      conditionOf,
      headOf,
      completed,
      wants,
      definitionOf,
      columnsOf,
      isBridge,
      operatorVersion,
      lost,
      assertNeverRefused,
      assertStrict,
      writerOf,
      inUse,
      used,
      gone,
      unused,
      isMarked,
      ledgers,
    },
  };
}

/** Fails where a value is not what its published schema says. */
export function fits(schema: string, value: unknown): void {
  const read = fromJSONSchema(JSON.parse(readFileSync(join(root, `docs/schemas/${schema}.json`), 'utf8')) as never);
  assert.deepEqual(read.safeParse(value).error?.issues ?? [], []);
}
