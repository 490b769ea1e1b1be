import { type Backend, type Sandbox, startSandbox } from '@drydock/sandbox';
import type { RequestUser } from './planned-request.ts';
import { CRD_SETS } from './served-kinds.ts';
import { type ServerSide, serverSide } from './server-side.ts';
import { NAMESPACES } from './write-requests.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const READS = ['get', 'list', 'watch'];

/** What histories find: namespaces, and rights of the users in whose names requests are made. */
const FIXTURES: readonly (readonly [path: string, body: unknown])[] = [
  ...Object.values(NAMESPACES).map((name) => ['/api/v1/namespaces', { metadata: { name } }] as const),
  [
    `${RBAC}/clusterroles`,
    {
      metadata: { name: 'differ-reads' },
      rules: [{ apiGroups: ['', 'apps', 'cluster.x-k8s.io'], resources: ['*'], verbs: READS }],
    },
  ],
  [
    `${RBAC}/clusterrolebindings`,
    {
      metadata: { name: 'differ-reads' },
      roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'differ-reads' },
      subjects: [{ apiGroup: RBAC_GROUP, kind: 'User', name: 'differ-reader' }],
    },
  ],
  [
    `${RBAC}/namespaces/${NAMESPACES.main}/roles`,
    {
      metadata: { name: 'differ-edits' },
      rules: [
        {
          apiGroups: ['', 'apps', 'batch', RBAC_GROUP],
          resources: ['*'],
          verbs: [...READS, 'create', 'patch', 'delete'],
        },
        { apiGroups: ['machine.openshift.io'], resources: ['machines/status', 'machinesets'], verbs: ['*'] },
      ],
    },
  ],
  [
    `${RBAC}/namespaces/${NAMESPACES.main}/rolebindings`,
    {
      metadata: { name: 'differ-edits' },
      roleRef: { apiGroup: RBAC_GROUP, kind: 'Role', name: 'differ-edits' },
      subjects: [{ apiGroup: RBAC_GROUP, kind: 'Group', name: 'differ-editors' }],
    },
  ],
];

/** A server that is compared. */
export interface ComparedServer extends AsyncDisposable {
  readonly side: ServerSide;
  readonly sandbox: Sandbox;
}

/** Starts a server with the CRDs, namespaces and rights that histories need. */
export async function comparedServer(backend: Backend): Promise<ComparedServer> {
  await using starting = new AsyncDisposableStack();
  const sandbox = starting.use(await startSandbox({ backend, crds: CRD_SETS }));
  const side = starting.use(serverSide(sandbox.admin));
  for (const [path, body] of FIXTURES) {
    const { code, body: said } = await side.send({ method: 'POST', path, body });
    if (code !== 201) throw new Error(`POST ${path}: ${code} ${JSON.stringify(said)}`);
  }
  await until(side, 'reader', '/api/v1/pods');
  await until(side, 'editor', `/api/v1/namespaces/${NAMESPACES.main}/secrets`);
  const running = starting.move();
  return { side, sandbox, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Waits for the server's own cache of rights. */
async function until(side: ServerSide, user: RequestUser, path: string): Promise<void> {
  for (let left = 200; left > 0; left -= 1) {
    const { code } = await side.send({ method: 'GET', path, user });
    if (code === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${user} may not read ${path}, although a role says so`);
}
