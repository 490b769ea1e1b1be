import { resolve } from 'node:path';
import { binaryPath } from './build.ts';
import type { Authority } from './certificate.ts';
import { defineServer, type OwnedServer } from './server-process.ts';
import type { WorkDirectory } from './workdir.ts';

/** What the simulated vCenter is like. */
export interface VCenterOptions {
  /** `administrator@vsphere.local` by default. */
  readonly user?: string;
  /** Random by default. */
  readonly password?: string;
  /** The inventory to start with, or a JSON file that holds one. */
  readonly model?: string | VCenterModel;
}

/** Counts of the simulator's inventory; what is left out has the simulator's default (1, 2, 2, 0, 1). */
export interface VCenterModel {
  readonly datacenters?: number;
  /** Per datacenter. */
  readonly clusters?: number;
  /** Per cluster. */
  readonly hosts?: number;
  /** Per cluster. */
  readonly vms?: number;
  /** Per datacenter. */
  readonly datastores?: number;
  /** Powers the VMs on. */
  readonly autostart?: boolean;
}

/** How to reach the simulated vCenter. */
export interface VCenterEndpoint {
  /** `https://127.0.0.1:<port>/sdk`. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** PEM file of the CA that signed the server's certificate. */
  readonly ca: string;
  /** Base URL of the fault switchboard (HTTP, loopback). */
  readonly switchboard: string;
}

/** The simulator, defined but not started; `endpoint` is known once it runs. */
export interface VCenterProcess {
  readonly server: OwnedServer;
  endpoint(): VCenterEndpoint;
}

interface Addresses {
  readonly url: string;
  readonly switchboard: string;
}

function addresses(line: string): Addresses {
  const { url, switchboard } = JSON.parse(line) as Partial<Addresses>;
  if (url === undefined || switchboard === undefined)
    throw new TypeError(`drydock-vcenter printed no addresses: ${line}`);
  return { url, switchboard };
}

// The servers run in the sandbox's folder: a relative path would mean something else there.
const modelFile = (directory: WorkDirectory, model: string | VCenterModel): string =>
  typeof model === 'string' ? resolve(model) : directory.write('model.json', JSON.stringify(model));

/** Writes the server's certificate and defines the simulator. `ca.crt` must already be in the folder. */
export function defineVCenter(
  directory: WorkDirectory,
  authority: Authority,
  ca: string,
  options: VCenterOptions,
): VCenterProcess {
  const user = options.user ?? 'administrator@vsphere.local';
  const password = options.password ?? crypto.randomUUID();
  const serving = authority.issueServer(['localhost', '127.0.0.1']);
  const args = [
    ...['--listen', '127.0.0.1:0', '--switchboard', '127.0.0.1:0'],
    ...['--cert', directory.write('vcenter.crt', serving.certificate)],
    ...['--key', directory.write('vcenter.key', serving.privateKey)],
    ...['--user', user, '--password', password],
    ...(options.model === undefined ? [] : ['--model', modelFile(directory, options.model)]),
  ];
  let known: Addresses | undefined;
  const server = defineServer({
    name: 'drydock-vcenter',
    directory,
    command: () => ({ binary: binaryPath('drydock-vcenter'), args }),
    ready: async (line) => {
      if (line === undefined) return false;
      known = addresses(line);
      return true;
    },
  });
  return {
    server,
    endpoint() {
      if (known === undefined) throw new TypeError('the simulator has not been started');
      return { ...known, user, password, ca };
    },
  };
}
