import { extname, join, resolve } from 'node:path';
import { type Authority, createAuthority } from '../../certificate.ts';
import { guardExit } from '../../exit-guard.ts';
import { defineServer } from '../../server-process.ts';
import type { VCenterEndpoint, VCenterOptions, VCenterProcess } from '../../vcenter.ts';
import { createWorkDirectory, sweep, type WorkDirectory } from '../../workdir.ts';
import { serverProgram } from '../server-program.ts';

/** What the embedded vCenter is like. */
export interface EmbeddedVCenterOptions extends VCenterOptions {
  /** Locks an account for five minutes after five refusals within three, as vCenter does. */
  readonly lockout?: boolean;
}

/** Options of the process, as JSON in the file that its one argument names: no password is in the list of processes. */
export interface VCenterProcessOptions {
  /** PEM. */
  readonly certificate: string;
  readonly privateKey: string;
  readonly user: string;
  readonly password: string;
  /** A file with a {@link VCenterModel}. Default: an inventory without clusters of its own. */
  readonly modelFile?: string;
  readonly lockout?: boolean;
}

/** The main module of the process. */
export const EMBEDDED_VCENTER: string = join(
  import.meta.dirname,
  `embedded-vcenter-process${extname(import.meta.filename)}`,
);

/** Writes the server's certificate and options, and defines the embedded vCenter. `ca.crt` must already be in the folder. */
export async function defineEmbeddedVCenter(
  directory: WorkDirectory,
  authority: Authority,
  ca: string,
  options: EmbeddedVCenterOptions,
): Promise<VCenterProcess> {
  const user = options.user ?? 'administrator@vsphere.local';
  const password = options.password ?? crypto.randomUUID();
  const serving = authority.issueServer(['localhost', '127.0.0.1']);
  const { model } = options;
  const modelFile =
    typeof model === 'string' ? resolve(model) : directory.write('model.json', JSON.stringify(model ?? {}));
  const processOptions: VCenterProcessOptions = {
    ...{ certificate: serving.certificate, privateKey: serving.privateKey, user, password, modelFile },
    ...(options.lockout === undefined ? {} : { lockout: options.lockout }),
  };
  const program = await serverProgram(EMBEDDED_VCENTER);
  const args = [...program.args, directory.write('vcenter.json', JSON.stringify(processOptions))];
  let known: { readonly url: string; readonly switchboard: string } | undefined;
  const server = defineServer({
    name: 'embedded-vcenter',
    directory,
    command: () => ({ binary: process.execPath, args, env: program.env }),
    pollMs: 5,
    ready: async (line) => {
      if (line === undefined) return false;
      known = JSON.parse(line) as { readonly url: string; readonly switchboard: string };
      return true;
    },
  });
  return {
    server,
    endpoint() {
      if (known === undefined) throw new TypeError('the embedded vCenter has not been started');
      const { url, switchboard } = known;
      return { url, switchboard, user, password, ca };
    },
  };
}

/** A vCenter that runs. Disposing it ends its process and removes its files. */
export interface EmbeddedVCenter extends VCenterEndpoint, AsyncDisposable {}

/** Starts an embedded vCenter and nothing else, with a CA of its own. */
export async function startEmbeddedVCenter(
  options: EmbeddedVCenterOptions & { readonly signal?: AbortSignal } = {},
): Promise<EmbeddedVCenter> {
  sweep();
  const directory = createWorkDirectory();
  const authority = createAuthority('drydock sandbox');
  const ca = directory.write('ca.crt', authority.certificate);
  const defined = await defineEmbeddedVCenter(directory, authority, ca, options);
  const { server } = defined;
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
    await server.start(options.signal === undefined ? {} : { signal: options.signal });
  } catch (error) {
    await end();
    throw error;
  }
  return { ...defined.endpoint(), [Symbol.asyncDispose]: end };
}
