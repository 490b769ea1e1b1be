import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { Namespace } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type TestSigner, testSigner } from '@drydock/release/testing';
import { type ApiServerEra, type Sandbox, scratchFolder, startSandbox } from '@drydock/sandbox';
import { type ApiCall, type AuditLog, auditLog } from './audit-log.ts';
import { type Process, startProcess } from './operator-process.ts';
import { accountNamespace, apply, type Manifest, manifestsOf } from './rbac-manifests.ts';
import { kubeconfigOf, userOf } from './rbac-voyage.ts';
import { type ReleaseRegistry, startReleaseRegistry } from './release-registry.ts';

const root = resolve(import.meta.dirname, '../../..');
const drydock = join(root, 'apps/drydock/bin/drydock.js');
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** An operator of releases as a process. */
export interface ReleaseOperator extends Process {
  readonly log: () => string;
  /** What it serves at a path; '' before it listens. */
  readonly served: (path: string) => Promise<string>;
  /** How many passes over objects of a kind have ended. */
  readonly passes: (controller: 'payloads' | 'cluster-versions') => Promise<number>;
}

/** A real API server with the rights of the release manager, a registry with signatures, and what was asked of the server. */
export interface ReleaseRig extends AsyncDisposable {
  readonly sandbox: Sandbox;
  /** As an administrator. */
  readonly client: KubeClient;
  readonly registry: ReleaseRegistry;
  readonly signer: TestSigner;
  readonly audit: AuditLog;
  readonly manifests: readonly Manifest[];
  /** `drydock operator --roles release` with the token of its ServiceAccount. */
  operator(identity?: string, flags?: readonly string[]): Promise<ReleaseOperator>;
  /** Gives a ServiceAccount more rights, in a namespace or everywhere. */
  grant(
    name: string,
    rules: readonly object[],
    where: { readonly namespace?: string; readonly account: { readonly namespace: string; readonly name: string } },
  ): Promise<void>;
  /** Runs the command as an administrator; resolves to what it prints. */
  ran(...args: readonly string[]): Promise<string>;
  /** What a ServiceAccount asked for. */
  callsOf(name: string): readonly ApiCall[];
}

/**
 * Starts one. `kustomizations`: folders of `deploy/rbac` that are applied, `namespaces`: those that are there; with an `audit` of somebody else the rig has none of its own.
 */
export async function startReleaseRig(options: {
  readonly kustomizations: readonly string[];
  readonly namespaces: readonly string[];
  readonly crds?: readonly string[];
  readonly era?: ApiServerEra;
  readonly workloads?: boolean;
  readonly audit?: Pick<AuditLog, 'flags'>;
}): Promise<ReleaseRig> {
  await using starting = new AsyncDisposableStack();
  const registry = starting.use(await startReleaseRegistry());
  const signer = await testSigner('ours');
  const folder = starting.use(scratchFolder());
  const audit = auditLog(folder.path, accountNamespace);
  const crds = [join(root, 'api/crds'), ...(options.crds ?? [])];
  const sandbox = starting.use(
    await startSandbox({
      crds,
      apiserverFlags: [...(options.audit ?? audit).flags],
      workloads: options.workloads ?? false,
      ...(options.era === undefined ? {} : { era: options.era }),
    }),
  );
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  for (const name of [...options.namespaces, accountNamespace]) await client.create(Namespace, { metadata: { name } });
  const manifests = options.kustomizations.flatMap(manifestsOf);
  await apply(client, manifests);
  const resources = starting.move();
  let started = 0;
  return {
    ...{ sandbox, client, registry, signer, audit, manifests },
    operator: async (identity = 'one', more = []) => {
      started += 1;
      const kubeconfig = join(sandbox.directory, `release-${started}.json`);
      const config = JSON.stringify(await kubeconfigOf({ client, sandbox }, 'drydock-release'));
      writeFileSync(kubeconfig, config, { mode: 0o600 });
      const log = join(sandbox.directory, `release-${started}.log`);
      const flags = [
        ...['--roles', 'release', '--lease-namespace', accountNamespace, '--identity', identity, '--port', '0'],
        ...['--registry-plain', registry.host, ...more],
      ];
      const running = startProcess(drydock, ['operator', '--kubeconfig', kubeconfig, ...flags], {
        sandbox: sandbox.directory,
        log,
      });
      const told = (): string => readFileSync(log, 'utf8');
      const served = async (path: string): Promise<string> => {
        const port = /"port":(\d+)/.exec(told())?.[1];
        return port === undefined ? '' : (await fetch(`http://127.0.0.1:${port}/${path}`)).text();
      };
      return {
        ...running,
        ...{ log: told, served },
        passes: async (controller) => {
          const counted = new RegExp(`reconcile_total\\{controller="${controller}",[^}]*\\} (\\d+)`, 'g');
          return [...(await served('metrics')).matchAll(counted)].reduce((sum, [, count]) => sum + Number(count), 0);
        },
      };
    },
    grant: async (name, rules, { namespace, account }) => {
      const kind = namespace === undefined ? 'ClusterRole' : 'Role';
      const at = namespace === undefined ? RBAC : `${RBAC}/namespaces/${namespace}`;
      const plural = kind.toLowerCase();
      const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
      await client.raw({ method: 'POST', path: `${at}/${plural}s`, body: { metadata, rules } });
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name };
      const subjects = [{ kind: 'ServiceAccount', ...account }];
      await client.raw({ method: 'POST', path: `${at}/${plural}bindings`, body: { metadata, roleRef, subjects } });
    },
    ran: async (...args) => {
      const child = spawn(process.execPath, [drydock, ...args, '--kubeconfig', sandbox.kubeconfig], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [out] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      return out;
    },
    callsOf: (name) => audit.calls().filter(({ user }) => user === userOf(name)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
