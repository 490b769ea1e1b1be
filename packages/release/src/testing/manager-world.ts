import { readFileSync } from 'node:fs';
import { Payload } from '@drydock/api';
import { readYamlDocument } from '@drydock/api/yaml';
import { type Clock, type KubeClient, type KubeMetrics, kubeMetrics, type Operator, run } from '@drydock/kube';
import { type MemoryCluster, memoryCluster, until } from '@drydock/kube/testing';
import { pino } from 'pino';
import { applyPayload } from '../apply/apply.ts';
import { configMapInventory } from '../apply/inventory/config-maps.ts';
import type { Inventory, InventoryStore } from '../apply/inventory/inventory.ts';
import type { ApplyOutcome, ApplyPorts, ApplyWish } from '../apply/wish.ts';
import { ReleaseError } from '../errors.ts';
import type { Account } from '../manager/face.ts';
import { type ReleaseMetrics, releaseMetrics } from '../manager/metrics.ts';
import { releaseRole } from '../manager/role.ts';
import type { PayloadFiles } from '../payload/directory.ts';
import { idKey } from '../payload/manifest.ts';
import type { SignatureStore } from '../verify/signature-stores.ts';
import { manifestText, payloadFiles } from './payload-files.ts';
import { signedBy, type TestSigner } from './signatures.ts';

const file = new URL('../../../../api/crds/drydock.dev_payloads.yaml', import.meta.url);
/** The definition of Payloads. */
export const payloadDefinition = readYamlDocument(readFileSync(file, 'utf8'), { maxBytes: 1 << 20 }) as object;
const log = pino({ level: process.env['DRYDOCK_TEST_LOG'] ?? 'silent' });
const hex = (name: string) => Buffer.from(name).toString('hex').padEnd(64, '0');
/** The image of a release. */
export const imageOf = (name: string) => `registry.test/tools@sha256:${hex(name)}`;
/** In whose name everything is applied. */
export const account: Account = { namespace: 'default', name: 'deployer' };
const STORE = 'https://signatures.test';

/** Whom a process of the manager acts as. */
export interface ManagerClients {
  readonly own?: KubeClient;
  readonly account?: KubeClient | undefined;
}

/** A manager in memory, with a registry, a store of signatures, and an application that a test decides about, or the real one. */
export class ReleaseWorld implements AsyncDisposable {
  readonly cluster: MemoryCluster = memoryCluster({ crds: [payloadDefinition] });
  readonly client: KubeClient = this.cluster.client();
  readonly images: Map<string, PayloadFiles> = new Map();
  readonly signatures: Map<string, Uint8Array> = new Map();
  readonly retrieved: string[] = [];
  /** Images that a registry begins to send and never ends, whatever it is told. */
  readonly hanging: Set<string> = new Set();
  readonly applied: { readonly wish: ApplyWish; readonly account: Account }[] = [];
  readonly metrics: KubeMetrics = kubeMetrics();
  readonly claims: Map<string, string> = new Map();
  /** How an application ends. */
  outcome: (wish: ApplyWish, ports: ApplyPorts) => Promise<ApplyOutcome> = (wish) => Promise.resolve(done(wish));
  operator: Operator | undefined;
  readonly #others: Operator[] = [];
  readonly signer: TestSigner;
  readonly #really: boolean;
  readonly #clock: Clock | undefined;
  readonly #told: ReleaseMetrics = releaseMetrics(this.metrics.registry);

  /** `clock` is the manager's. */
  constructor(
    signer: TestSigner,
    { really = false, clock }: { readonly really?: boolean; readonly clock?: Clock } = {},
  ) {
    this.signer = signer;
    this.#really = really;
    this.#clock = clock;
  }

  /** Puts a release into the registry, signed or not. */
  async release(
    version: string,
    {
      signed = true,
      objects = ['a'],
      manifests = objects.map((name) => manifestText('ConfigMap', name)),
    }: {
      readonly signed?: boolean;
      readonly objects?: readonly string[];
      readonly manifests?: readonly string[];
    } = {},
  ): Promise<string> {
    const files = manifests.map((text, at) => [`release-manifests/0000_10_a_${at}.yaml`, text] as const);
    this.images.set(imageOf(version), payloadFiles(Object.fromEntries(files), { version }));
    if (signed) this.signatures.set(`sha256:${hex(version)}`, await signedBy(this.signer, `sha256:${hex(version)}`));
    return imageOf(version);
  }

  /** Starts the manager; again it is another process, beside those that run. Without clients it shares that of the test. */
  async start({ own: client, account: byAccount = client }: ManagerClients = {}): Promise<this> {
    const mine = client ?? this.client;
    let acting = account;
    if (this.operator !== undefined) this.#others.push(this.operator);
    const role = releaseRole({
      ...{ client: mine, namespace: 'default', log, random: () => 0 },
      ...(this.#clock === undefined ? {} : { clock: this.#clock }),
      clientFor: (of) => {
        acting = of;
        return byAccount ?? this.client;
      },
      inventory: this.inventory(mine),
      metrics: this.#told,
      retrieve: (image) => {
        this.retrieved.push(image);
        if (this.hanging.has(image)) return new Promise(() => undefined);
        const found = this.images.get(image);
        return found === undefined
          ? Promise.reject(new ReleaseError('REGISTRY', `${image} is not there`))
          : Promise.resolve(found);
      },
      storeAt: (): SignatureStore => ({
        name: STORE,
        signatures: (digest) => this.#signaturesOf(digest),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
      apply: (wish, ports) => {
        this.applied.push({ wish, account: acting });
        for (const { id } of wish.manifests)
          if (!this.claims.has(idKey(id))) this.claims.set(idKey(id), wish.owner.name);
        return this.#really ? applyPayload(wish, ports) : this.outcome(wish, ports);
      },
    });
    this.operator = await run({
      client: mine,
      ...role,
      log,
      metrics: this.metrics,
      signal: new AbortController().signal,
    });
    return this;
  }

  async *#signaturesOf(digest: string): AsyncGenerator<Uint8Array> {
    const found = this.signatures.get(digest);
    if (found !== undefined) yield found;
  }

  inventory(client: KubeClient = this.client): InventoryStore {
    if (this.#really) return configMapInventory({ client, namespace: 'default' });
    return {
      owners: () => Promise.resolve([...new Set(this.claims.values())]),
      remove: ({ name }) => {
        const mine = [...this.claims].filter(([, owner]) => owner === name);
        for (const [key] of mine) this.claims.delete(key);
        return Promise.resolve(mine.length);
      },
      open: ({ name }): Promise<Inventory> =>
        Promise.resolve({
          entries: new Map(),
          claimedByOthers: new Map([...this.claims].filter(([, owner]) => owner !== name)),
          heldByOthers: new Map(),
          refresh: () => Promise.resolve(),
          write: () => Promise.resolve(),
          flush: () => Promise.resolve(),
          note: () => undefined,
        }),
    };
  }

  create(name: string, spec: Partial<Payload['spec']>): Promise<Payload> {
    const verify = { keyRings: [{ name: 'ours', keys: this.signer.publicKey }], stores: [STORE] };
    return this.client.create(Payload, { metadata: { name }, spec: { serviceAccount: account, verify, ...spec } });
  }

  patch(name: string, spec: object): Promise<Payload> {
    return this.client.mergePatch(Payload, { name }, { spec });
  }

  condition(name: string, type: string): string {
    const found = this.cluster.peek(Payload, { name })?.status?.conditions?.find((one) => one.type === type);
    return found === undefined ? '' : `${found.status} ${found.reason}: ${found.message}`;
  }

  history(name: string): readonly string[] {
    return (this.cluster.peek(Payload, { name })?.status?.history ?? []).map(
      ({ id, state, version }) => `${id} ${version} ${state}`,
    );
  }

  isCompleted(name: string, version: string): boolean {
    const [head] = this.cluster.peek(Payload, { name })?.status?.history ?? [];
    return (
      head?.version === version && head.state === 'Completed' && this.condition(name, 'Progressing').startsWith('False')
    );
  }

  completed = (name: string, version: string): Promise<unknown> =>
    until(`${version} is complete`, () => this.isCompleted(name, version));

  async stop(): Promise<void> {
    const all = [...this.#others.splice(0), ...(this.operator === undefined ? [] : [this.operator])];
    await Promise.all(all.map((one) => one[Symbol.asyncDispose]()));
    this.operator = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

const done = ({ manifests }: ApplyWish): ApplyOutcome => ({
  ...{ complete: true, errors: [], deletions: [] },
  progress: { done: manifests.length, total: manifests.length, waiting: [] },
});
