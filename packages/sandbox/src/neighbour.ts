import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaryPath, build, type Neighbour } from './build.ts';
import { createAuthority } from './certificate.ts';
import { guardExit } from './exit-guard.ts';
import { freePorts } from './port.ts';
import { defineServer, type Server } from './server-process.ts';
import { createWorkDirectory, sweep, type WorkDirectory } from './workdir.ts';

/** How a neighbour is run. */
export interface NeighbourOptions {
  /** File of whom it acts as. */
  readonly kubeconfig: string;
  /** Its other flags. */
  readonly flags?: readonly string[];
  /** Besides this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Receives the steps of a first build; stderr by default. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** A program of upstream that acts in the cluster of a sandbox. Disposing it ends it. */
export interface RunningNeighbour extends Server, AsyncDisposable {
  /** What it has logged. */
  readonly log: () => string;
}

interface Manner {
  /** Flags without which it would not run beside others on one machine. */
  readonly flags: (directory: WorkDirectory) => Promise<readonly string[]>;
  /** What stands in its log as soon as it acts; without it the first line of its standard output says so. */
  readonly acts?: RegExp;
  /** What comes before all flags. */
  readonly verbs?: readonly string[];
}

/** What controller-runtime logs when the caches of a controller are filled. */
const acts = /Starting workers/;
const noListeners = ['--health-addr=0', '--metrics-bind-address=0'];

const MANNERS: Readonly<Record<Neighbour, Manner>> = {
  'machine-config-controller': { flags: async () => [] },
  'machine-api-vsphere': { flags: async () => noListeners, acts },
  'machine-api-machineset': { flags: async () => [...noListeners, '--webhook-enabled=false'], acts },
  'machine-api-nodelink': { flags: async () => [], acts },
  'cluster-api': { flags: managerFlags, acts },
  'cluster-api-provider-vsphere': { flags: managerFlags, acts },
  'cluster-version-operator': {
    flags: async () => ['--listen=', '--enable-auto-update=false', '--node-name=sandbox', '--v=2'],
    acts: /successfully acquired lease/,
    verbs: ['start'],
  },
};

/** Cluster API's managers serve their webhooks whether or not anybody has configured them. */
async function managerFlags(directory: WorkDirectory): Promise<readonly string[]> {
  const { certificate, privateKey } = createAuthority('drydock sandbox').issueServer(['localhost']);
  directory.write('tls.crt', certificate);
  directory.write('tls.key', privateKey);
  const [port] = await freePorts(1);
  return [
    ...['--leader-elect=false', '--health-addr=0'],
    ...['--diagnostics-address=127.0.0.1:0', '--insecure-diagnostics=true'],
    ...[`--webhook-port=${port}`, `--webhook-cert-dir=${directory.path}`],
  ];
}

/** Builds the program where it is not there yet (minutes; it says so), starts it, and resolves when it has seen the cluster once and acts. */
export async function startNeighbour(name: Neighbour, options: NeighbourOptions): Promise<RunningNeighbour> {
  const { kubeconfig, flags = [], env = {}, signal, log } = options;
  const call = signal === undefined ? {} : { signal };
  await build({ servers: [name], crds: [], ...(log === undefined ? {} : { log }), ...call });
  sweep();
  const directory = createWorkDirectory();
  const manner = MANNERS[name];
  const own = await manner.flags(directory);
  const said = (): string => readFileSync(join(directory.path, `${name}.log`), 'utf8');
  const server = defineServer({
    ...{ name, directory },
    command: () => ({
      binary: binaryPath(name),
      args: [...(manner.verbs ?? []), '--kubeconfig', kubeconfig, ...own, ...flags],
      env,
    }),
    ready: async (line) => (manner.acts === undefined ? line !== undefined : manner.acts.test(said())),
  });
  const disarm = guardExit(() => {
    server.killNow();
    directory.remove();
  });
  const end = async (): Promise<void> => {
    disarm();
    await server.kill('SIGTERM');
    directory.remove();
  };
  try {
    await server.start(call);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    name,
    get pid() {
      return server.pid;
    },
    log: said,
    kill: (how) => server.kill(how),
    start: (how) => server.start(how),
    restart: (how) => server.restart(how),
    [Symbol.asyncDispose]: end,
  };
}
