import { resolve } from 'node:path';
import type { Era } from '@drydock/crd';
import type { RehearsalPorts } from '@drydock/release';
import { UsageError } from '../exit.ts';
import { startOperator } from '../process/operator-process.ts';

/** The folder with Drydock's own definitions. */
const OWN = resolve(import.meta.dirname, '../../../../api/crds');

/**
 * The servers and programs of a rehearsal. The API servers are always the real ones. Throws `UsageError` with the command that builds
 * them where they are missing, or where the sandbox is.
 */
export async function rehearsalPorts(
  wanted: { readonly eras: readonly Era[]; readonly workloads: boolean },
  log?: (line: string) => void,
): Promise<RehearsalPorts> {
  const { createAuthority, missingServers, startSandbox } = await sandboxModule();
  const build = missingServers(wanted);
  if (build !== undefined)
    throw new UsageError(
      `a rehearsal needs the real servers, which are not built: run "${build}" in the checkout (Go, several minutes)`,
    );
  return {
    startCluster: async ({ era, workloads, apiserverFlags, signal }) => {
      const told = log === undefined ? {} : { log };
      const options = { backend: 'real' as const, era, apiserverFlags, signal, workloads, crds: [OWN], ...told };
      const sandbox = await startSandbox(options);
      const pods = sandbox.workloads;
      return {
        kubeconfigFor: (subject) => sandbox.kubeconfigFor(subject),
        directory: sandbox.directory,
        ...(pods === undefined ? {} : { podRules: (rules) => pods.rules(rules) }),
        switchEra: (next) => sandbox.switchEra(next, { signal }),
        [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
      };
    },
    startOperator: (args, logFile) => startOperator(args.slice(1), logFile),
    issueServer: () => {
      const authority = createAuthority('drydock-rehearsal');
      return { ...authority.issueServer(['127.0.0.1', 'localhost']), ca: authority.certificate };
    },
  };
}

async function sandboxModule(): Promise<typeof import('@drydock/sandbox')> {
  try {
    return await import('@drydock/sandbox');
  } catch (error) {
    if ((error as { readonly code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UsageError(
      'a rehearsal needs @drydock/sandbox, which brings a real API server: run it in a checkout of Drydock, or put that package beside this one',
    );
  }
}
