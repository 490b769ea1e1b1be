import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigMap, CustomResourceDefinition, Event, MachineConfiguration, Namespace, Secret } from '@drydock/api';
import type { KubeClient, KubeObject } from '@drydock/kube';
import { scratchFolder } from '@drydock/sandbox';
import { type ApiCall, type AuditLog, auditLog } from './audit-log.ts';
import { startProcess } from './operator-process.ts';
import { accountNamespace, apply, grantsTo, inNamespace, type Manifest, manifestsOf } from './rbac-manifests.ts';
import { eventually, startVoyage, type Voyage } from './voyage.ts';
import { machineApi, serverName, userData } from './voyage-cluster.ts';

/** Namespace of Zones and VirtualMachines. */
export const machinesNamespace = 'machines';

/** An operator that runs with the token of a ServiceAccount. Disposal ends it with SIGTERM and waits. */
export interface Operator extends AsyncDisposable {
  /** SIGKILL. Resolves when it is gone. */
  crash(): Promise<void>;
  /** What it answers at a path; '' while it does not. */
  served(path: string): Promise<string>;
  /** What it logged so far. */
  log(): string;
}

/** A voyage whose operators have nothing but the rights of `deploy/rbac`. */
export interface RbacVoyage extends AsyncDisposable {
  readonly voyage: Voyage;
  readonly audit: AuditLog;
  /** What was applied. */
  readonly manifests: readonly Manifest[];
  /** `drydock operator --roles …` as the ServiceAccount. */
  operator(roles: string, account: string): Promise<Operator>;
  /** Whether the API server permits a call to a ServiceAccount. */
  may(account: string, call: Omit<ApiCall, 'user' | 'code'>): Promise<boolean>;
  /** Waits for Events, and gives both roles something to write until they are there. */
  told(...events: readonly Told[]): Promise<void>;
}

/** An Event that is waited for. */
export interface Told {
  readonly namespace: string;
  readonly reason: string;
  /** Name of the object that it speaks of. */
  readonly about: string;
  /** How often it was counted. */
  readonly times: number;
}

/** The name that the API server knows a ServiceAccount by. */
export function userOf(account: string): string {
  return `system:serviceaccount:${accountNamespace}:${account}`;
}

/** Starts everything but operators. `stir` gives both roles something to write. */
export async function startRbacVoyage(stir: () => Promise<void>): Promise<RbacVoyage> {
  await using starting = new AsyncDisposableStack();
  const files = starting.use(scratchFolder()).path;
  const audit = auditLog(files, accountNamespace);
  // Without lists as streams a cache needs both of its verbs, as on most servers.
  const apiserverFlags = [...audit.flags, '--feature-gates=WatchList=false'];
  const voyage = starting.use(await startVoyage({ operator: false, apiserverFlags }));
  const { client, sandbox } = voyage;
  await sandbox.installCrds([resolve(import.meta.dirname, '../../../api/optional')]);
  await client.create(Namespace, { metadata: { name: machinesNamespace } });
  const manifests = [...manifestsOf('.'), ...inNamespace(manifestsOf('machines'), machinesNamespace)];
  await apply(client, manifests);
  // A stub to convert, and a configuration that is missing.
  const { metadata, data } = userData('worker-user-data', '2.2.0');
  await client.mergePatch(Secret, { namespace: machineApi, name: metadata.name }, { data });
  await client.delete(MachineConfiguration, { name: 'cluster' });

  const may: RbacVoyage['may'] = async (account, { verb, group, resource, namespace, name }) => {
    const [plural, subresource = ''] = resource.split('/');
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${accountNamespace}`, 'system:authenticated'];
    const resourceAttributes = { verb, group, resource: plural, subresource, namespace, name };
    const body = { spec: { user: userOf(account), groups, resourceAttributes } };
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const { status } = (await client.raw({ method: 'POST', path, body })) as { readonly status: { allowed: boolean } };
    return status.allowed;
  };
  await seen(manifests, may);
  let started = 0;
  const resources = starting.move();
  return {
    voyage,
    audit,
    manifests,
    may,
    operator: async (roles, account) => {
      started += 1;
      const kubeconfig = join(files, `kubeconfig-${started}.json`);
      writeFileSync(kubeconfig, JSON.stringify(await kubeconfigOf(voyage, account)), { mode: 0o600 });
      return startOperator(voyage, files, `log-${started}`, ['--roles', roles, '--kubeconfig', kubeconfig]);
    },
    told: async (...events) => {
      let missing: readonly Told[] = events;
      let looks = 0;
      const look = async (): Promise<true | undefined> => {
        if (looks % 20 === 0) await stir();
        looks += 1;
        const left = await Promise.all(missing.map(async (one) => ((await isTold(client, one)) ? [] : [one])));
        missing = left.flat();
        return missing.length === 0 || undefined;
      };
      await eventually('events', look, () => missing);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function isTold(client: KubeClient, { namespace, reason, about, times }: Told): Promise<boolean> {
  for await (const event of client.list(Event, { namespace })) {
    if (event.reason === reason && event.regarding?.name === about && (event.series?.count ?? 1) >= times) return true;
  }
  return false;
}

/** Waits until the server's authorizer has seen each rule. */
async function seen(manifests: readonly Manifest[], may: RbacVoyage['may']): Promise<void> {
  for (const { metadata } of manifests.filter(({ kind }) => kind === 'ServiceAccount')) {
    for (const { namespace = 'any', rule } of grantsTo(metadata.name, manifests)) {
      const [[verb = ''], [group = ''], [resource = '']] = [rule.verbs, rule.apiGroups, rule.resources];
      const call = { verb, group, resource, namespace, name: rule.resourceNames?.[0] ?? '' };
      await eventually(
        `the right to ${JSON.stringify(call)}`,
        async () => (await may(metadata.name, call)) || undefined,
      );
    }
  }
}

/** A kubeconfig with a token of a ServiceAccount. */
export async function kubeconfigOf(
  {
    client,
    sandbox,
  }: { readonly client: Pick<KubeClient, 'raw'>; readonly sandbox: { readonly server: string; readonly ca: string } },
  account: string,
): Promise<object> {
  const path = `/api/v1/namespaces/${accountNamespace}/serviceaccounts/${account}/token`;
  const body = { spec: { expirationSeconds: 3600 } };
  const { status } = (await client.raw({ method: 'POST', path, body })) as { readonly status: { token: string } };
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    contexts: [{ name: 'c', context: { cluster: 's', user: 'u' } }],
    clusters: [{ name: 's', cluster: { server: sandbox.server, 'certificate-authority': sandbox.ca } }],
    users: [{ name: 'u', user: { token: status.token } }],
  };
}

function startOperator({ sandbox, cacheDir }: Voyage, files: string, name: string, flags: readonly string[]): Operator {
  const log = join(files, name);
  const drydock = resolve(import.meta.dirname, '../../../apps/drydock/bin/drydock.js');
  const vcenter = ['--vcenter-url', `${serverName}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca];
  const process = startProcess(drydock, ['operator', ...flags, '--port', '0', '--cache-dir', cacheDir, ...vcenter], {
    sandbox: sandbox.directory,
    log,
  });
  const text = (): string => readFileSync(log, 'utf8');
  return {
    log: text,
    served: async (path) => {
      const port = /"port":(\d+)/.exec(text())?.[1];
      return port === undefined ? '' : (await fetch(`http://127.0.0.1:${port}/${path}`)).text();
    },
    crash: () => process.crash(),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

interface StatusSchema {
  readonly properties: { readonly status: { readonly properties: Record<string, unknown> } };
  'x-kubernetes-validations'?: unknown;
}

/** Takes a field away from the status in a definition, as a rollback does. Disposal puts it back. */
export async function withoutField(client: KubeClient, name: string, field: string): Promise<AsyncDisposable> {
  const { spec } = await client.get(CustomResourceDefinition, { name });
  const put = async (next: CustomResourceDefinition['spec']): Promise<void> => {
    const now = await client.get(CustomResourceDefinition, { name });
    await client.replace(CustomResourceDefinition, { ...now, spec: next });
  };
  const narrow = structuredClone(spec);
  for (const { schema } of narrow.versions) {
    const root = schema?.openAPIV3Schema as unknown as StatusSchema;
    delete root.properties.status.properties[field];
    // The rules of the whole object may speak of the field.
    delete root['x-kubernetes-validations'];
  }
  await put(narrow);
  return { [Symbol.asyncDispose]: () => put(spec) };
}

/** Takes the label off all ledgers by which Drydock knows them. Disposal puts it back. */
export async function disownLedgers(client: KubeClient, namespace: string): Promise<AsyncDisposable> {
  const label = 'app.kubernetes.io/managed-by';
  const mark = async (value: string | null, { metadata: { name } }: KubeObject): Promise<void> => {
    await client.mergePatch(ConfigMap, { namespace, name }, { metadata: { labels: { [label]: value } } } as object);
  };
  const all = await Array.fromAsync(
    client.list(ConfigMap, { namespace, labels: 'app.kubernetes.io/component=rollback-ledger' }),
  );
  for (const one of all) await mark(null, one);
  return {
    [Symbol.asyncDispose]: async () => {
      for (const one of all) await mark('drydock', one);
    },
  };
}
