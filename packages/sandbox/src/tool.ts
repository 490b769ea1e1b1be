import { binaryPath, build, type Tool } from './build.ts';

/** Path of a tool, which is built first where it is not yet. Rejects with `SandboxError` where it cannot be. */
export async function toolPath(name: Tool, options: { readonly signal?: AbortSignal } = {}): Promise<string> {
  await build({ servers: [name], crds: [], ...options });
  return binaryPath(name);
}
