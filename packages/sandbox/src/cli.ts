import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { backendLine, backendOf } from './backend.ts';
import { findBinaries } from './binaries.ts';
import { build, NEIGHBOURS, TOOLS } from './build.ts';
import { API_SERVER_ERAS, type ApiServerEra } from './era.ts';
import { SandboxError } from './errors.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';

const USAGE = `usage: drydock-sandbox <up|build> [options]

  up      starts an API server and a simulated vCenter, prints one line of JSON
          and stays until a signal ends it; SERVERS=real starts the real servers
          instead of the embedded ones
  build   builds the real servers

options of up and build:
  --era E0|E1|E2    how the API server treats what was illegal before (default: E2, Kubernetes 1.34;
                    E1 is 1.32, which is built the first time; E0 emulates what was before 1.30)
  --workloads       controllers, a scheduler and three nodes besides, so that Deployments roll out (built the
                    first time: 2 min)
  --neighbours      with build: upstream's programs and tools as well, which tests run beside Drydock when they are asked to

options of up:
  --crds SET|PATH   CRDs to install, repeatable (default: openshift)
  --no-vcenter      leave the vCenter out
  --user NAME       vCenter user (default: administrator@vsphere.local)
  --password TEXT   vCenter password (default: random)
  --model FILE      vCenter inventory
`;

/** What `up` prints: one line of JSON with these fields. */
interface UpLine {
  readonly kubeconfig: string;
  readonly server: string;
  readonly ca: string;
  readonly pid: number;
  readonly era: ApiServerEra;
  readonly vcenter?: Sandbox['vcenter'];
}

/** Besides 0 done, 1 failed and 2 usage, as everywhere. */
const INTERRUPTED: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

class UsageError extends Error {}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      allowNegative: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        era: { type: 'string' },
        workloads: { type: 'boolean', default: false },
        neighbours: { type: 'boolean', default: false },
        crds: { type: 'string', multiple: true },
        vcenter: { type: 'boolean', default: true },
        user: { type: 'string' },
        password: { type: 'string' },
        model: { type: 'string' },
      },
    });
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

type Values = ReturnType<typeof parse>['values'];

function eraOf({ era = 'E2' }: Values): ApiServerEra {
  const found = API_SERVER_ERAS.find((one) => one === era);
  if (found === undefined) throw new UsageError(`unknown era "${era}"; name one of ${API_SERVER_ERAS.join(', ')}`);
  return found;
}

async function up(values: Values, signal: AbortSignal): Promise<void> {
  const { user, password, model } = values;
  const era = eraOf(values);
  const backend = backendOf();
  process.stderr.write(`${backendLine(backend)}\n`);
  const vcenter = {
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(model === undefined ? {} : { model }),
  };
  await using sandbox = await startSandbox({
    backend,
    crds: values.crds ?? ['openshift'],
    vcenter: values.vcenter ? vcenter : false,
    workloads: values.workloads,
    era,
    signal,
  });
  const line: UpLine = {
    kubeconfig: sandbox.kubeconfig,
    server: sandbox.server,
    ca: sandbox.ca,
    pid: process.pid,
    era: sandbox.era,
    ...(sandbox.vcenter === undefined ? {} : { vcenter: sandbox.vcenter }),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (!signal.aborted) await once(signal, 'abort');
}

async function run(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values, positionals } = parse(args);
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const [verb, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError(`unexpected argument "${rest[0]}"`);
  if (verb === 'build') {
    const neighbours = values.neighbours ? [...NEIGHBOURS, ...TOOLS] : [];
    const workloads = values.workloads ? (['drydock-workloads'] as const) : [];
    const servers = [...findBinaries().needed(eraOf(values)), 'drydock-vcenter', ...workloads, ...neighbours] as const;
    await build({ signal, servers });
  } else if (verb === 'up') await up(values, signal);
  else throw new UsageError(verb === undefined ? 'a verb is missing' : `unknown verb "${verb}"`);
  return 0;
}

/** Runs the command and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => interrupted.abort(signal);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal);
  const code = (): number | undefined =>
    interrupted.signal.aborted ? INTERRUPTED[String(interrupted.signal.reason)] : undefined;
  try {
    const done = await run(args, interrupted.signal);
    return code() ?? done;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`drydock-sandbox: ${error.message}\n\n${USAGE}`);
      return 2;
    }
    if (error instanceof SandboxError && error.code === 'Aborted') return code() ?? 1;
    if (error instanceof SandboxError) process.stderr.write(`drydock-sandbox: ${error.message}\n`);
    else
      process.stderr.write(
        `drydock-sandbox: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
      );
    return 1;
  }
}
