import { binaryPath, build, type Neighbour } from './build.ts';
import { guardExit } from './exit-guard.ts';
import { defineServer, type Server } from './server-process.ts';
import { createWorkDirectory, sweep } from './workdir.ts';

/** How a neighbour is run. */
export interface NeighbourOptions {
  /** File of whom it acts as. */
  readonly kubeconfig: string;
  /** Its other flags. */
  readonly flags?: readonly string[];
  /** Receives the steps of a first build; stderr by default. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** A program of upstream that acts in the cluster of a sandbox. Disposing it ends it. */
export interface RunningNeighbour extends Server, AsyncDisposable {}

/** Builds the program where it is not there yet (minutes; it says so), starts it, and resolves when it has seen the cluster once and acts. */
export async function startNeighbour(name: Neighbour, options: NeighbourOptions): Promise<RunningNeighbour> {
  const { kubeconfig, flags = [], signal, log } = options;
  const call = signal === undefined ? {} : { signal };
  await build({ servers: [name], crds: [], ...(log === undefined ? {} : { log }), ...call });
  sweep();
  const directory = createWorkDirectory();
  const server = defineServer({
    ...{ name, directory },
    command: () => ({ binary: binaryPath(name), args: ['--kubeconfig', kubeconfig, ...flags] }),
    ready: async (line) => line !== undefined,
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
    kill: (how) => server.kill(how),
    start: (how) => server.start(how),
    restart: (how) => server.restart(how),
    [Symbol.asyncDispose]: end,
  };
}
