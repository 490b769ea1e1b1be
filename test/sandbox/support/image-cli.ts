import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { VCenterSandbox } from '@drydock/sandbox';
import { fromJSONSchema } from 'zod';
import { operatorProgram } from './crash-rig.ts';
import { machineApi, serverName } from './voyage-cluster.ts';

/** What a verb left. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** Flags by which `drydock image` finds the vCenter of a sandbox and the Lease of its operator. */
export function imageReach({ vcenter }: VCenterSandbox): readonly string[] {
  const reach = ['--vcenter-url', `${serverName}=${vcenter.url}`, '--vcenter-ca', vcenter.ca];
  return [...reach, '--lease-namespace', machineApi];
}

/** Runs `drydock image`. */
export function runImage(sandbox: VCenterSandbox, ...args: readonly string[]): Promise<Ended> {
  const { vcenter } = sandbox;
  const reach = ['--vcenter-url', `${serverName}=${vcenter.url}`, '--vcenter-ca', vcenter.ca];
  return runDrydock(sandbox, 'image', ...args, ...reach);
}

/** Runs `drydock`. */
export function runDrydock(sandbox: VCenterSandbox, ...args: readonly string[]): Promise<Ended> {
  return runCommand(sandbox, [...args, '--lease-namespace', machineApi]);
}

/** Runs `drydock` with these words and no others. */
export async function runCommand(
  { kubeconfig, directory }: Pick<VCenterSandbox, 'kubeconfig' | 'directory'>,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [operatorProgram.module, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: kubeconfig, HOME: directory, XDG_STATE_HOME: '', ...env },
  });
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { code, out, errors };
}

/** What is wrong with an output by its published schema, in which no other field may be. */
export function flaws(name: string, out: string): readonly string[] {
  const file = new URL(`../../../docs/schemas/${name}.json`, import.meta.url);
  const schema = JSON.parse(readFileSync(file, 'utf8')) as object;
  const strict = { ...schema, additionalProperties: false } as Parameters<typeof fromJSONSchema>[0];
  return (fromJSONSchema(strict).safeParse(JSON.parse(out)).error?.issues ?? []).map(({ message }) => message);
}
