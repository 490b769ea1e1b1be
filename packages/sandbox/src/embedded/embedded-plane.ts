import { extname, join } from 'node:path';
import { type Api, type Credentials, createApi, kubeconfigText } from '../api.ts';
import { needsRealServers } from '../backend.ts';
import { newSigningKey, type Subject } from '../certificate.ts';
import type { ControlPlane, ControlPlaneSpec } from '../control-plane.ts';
import { freePorts } from '../port.ts';
import { defineServer, type OwnedServer } from '../server-process.ts';
import { nodesOf } from '../workloads.ts';
import type { ApiServerOptions } from './apiserver/api-server.ts';
import { readServerFlags } from './server-flags.ts';
import { serverProgram } from './server-program.ts';

/** TypeScript in a checkout, JavaScript in a package. */
const MAIN = join(import.meta.dirname, `apiserver/api-server-main${extname(import.meta.filename)}`);

/** Its etcd: the embedded API server keeps its state itself. */
const NO_ETCD: OwnedServer = {
  name: 'etcd',
  pid: undefined,
  kill: async () => {
    throw needsRealServers('etcd');
  },
  start: async () => {
    throw needsRealServers('etcd');
  },
  restart: async () => {
    throw needsRealServers('etcd');
  },
  killNow: () => undefined,
};

/**
 * Chooses a port, writes keys, certificates and options, and defines the embedded API server. Its state is in a file of the sandbox's
 * folder, so that it outlives a SIGKILL of the server. `ca.crt` must already be in the folder.
 */
export async function defineEmbeddedPlane(spec: ControlPlaneSpec): Promise<ControlPlane> {
  const { directory, authority } = spec;
  const flags = readServerFlags(spec.apiserverFlags);
  const [port = 0] = await freePorts(1);
  const url = `https://127.0.0.1:${port}`;
  const serving = authority.issueServer(['localhost', '127.0.0.1', 'kubernetes.default.svc']);
  const tokenKey = newSigningKey();
  const signingKey = directory.write('service-account.key', tokenKey);
  const credentialsFor = (subject: Subject): Credentials => ({
    url,
    ca: authority.certificate,
    ...authority.issueClient(subject),
  });
  const admin = credentialsFor({ user: 'sandbox-admin', groups: ['system:masters'] });
  const api: Api = createApi(admin);
  const optionsFile = (): string => {
    const options: ApiServerOptions = {
      ...{ host: '127.0.0.1', port, tokenKey, era: spec.era() },
      ...{ certificate: serving.certificate, privateKey: serving.privateKey, clientCa: authority.certificate },
      stateFile: join(directory.path, 'api-server.state'),
      ...flags,
      ...(spec.workloads === undefined ? {} : { workloads: { nodes: nodesOf(spec.workloads) } }),
    };
    return directory.write('api-server.json', JSON.stringify(options));
  };
  const program = await serverProgram(MAIN);
  let kubeconfigs = 0;
  const apiserver = defineServer({
    name: 'kube-apiserver',
    directory,
    command: () => ({ binary: process.execPath, args: [...program.args, optionsFile()], env: program.env }),
    // The line is printed once it listens, and it answers from then on.
    ready: async (line) => line !== undefined,
    timeoutMs: 120_000,
    pollMs: 5,
  });
  return {
    ...{ admin, api, signingKey, apiserver, etcd: NO_ETCD },
    start: (options) => apiserver.start(options),
    kubeconfigFor: (subject) =>
      directory.write(`kubeconfig-${kubeconfigs++}.yaml`, kubeconfigText(credentialsFor(subject), subject.user)),
    replica: async () => {
      throw needsRealServers('second API server on the same data');
    },
  };
}
