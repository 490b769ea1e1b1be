import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { shownText, wordText } from '@drydock/api/text';
import { ApiError } from '../errors.ts';
import { SHAPES, shaped } from './kubeconfig-shape.ts';

/** A cluster entry, with file names made absolute. */
export interface ClusterEntry {
  readonly server?: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly extensions?: readonly { readonly name: string; readonly extension?: unknown }[];
}

/** The exec part of a user entry as the file has it. */
export interface ExecEntry {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly interactiveMode?: string;
  readonly provideClusterInfo?: boolean;
}

/** A user entry, with file names made absolute. */
export interface UserEntry {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
  readonly exec?: ExecEntry;
  readonly 'auth-provider'?: { readonly name?: string };
}

/** A context entry. */
export interface ContextEntry {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

/** What the kubeconfig files say together. */
export interface MergedKubeconfig {
  /** Files that are there. */
  readonly found: number;
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly contexts: ReadonlyMap<string, ContextEntry>;
}

/** Builds the error for a kubeconfig that cannot be used. */
export function kubeconfigError(action: string, said: string, cause?: unknown): ApiError {
  return new ApiError({ code: 'Kubeconfig', action, said, cause });
}

/**
 * Reads and merges kubeconfig files as kubectl does: the first file that defines a name, or the current context, wins; relative
 * file names belong to the folder of the file that holds them; missing and empty files are skipped, unless `required`.
 */
export async function mergeKubeconfigs(paths: readonly string[], required = false): Promise<MergedKubeconfig> {
  let currentContext = '';
  const clusters = new Map<string, ClusterEntry>();
  const users = new Map<string, UserEntry>();
  const contexts = new Map<string, ContextEntry>();
  let found = 0;
  for (const path of paths) {
    const file = await readKubeconfig(path, required);
    if (file === undefined) continue;
    found += 1;
    const folder = dirname(resolve(path));
    if (currentContext === '')
      currentContext = shaped(
        file['current-context'] ?? '',
        'text',
        `read kubeconfig ${path}`,
        '',
        'current-context',
      ) as string;
    merge(clusters, entries(file, 'clusters', 'cluster', path), (entry: ClusterEntry) =>
      absolute(entry, ['certificate-authority'], folder),
    );
    merge(users, entries(file, 'users', 'user', path), (entry: UserEntry) => absoluteUser(entry, folder));
    merge(contexts, entries(file, 'contexts', 'context', path), (entry: ContextEntry) => entry);
  }
  return { found, currentContext, clusters, users, contexts };
}

async function readKubeconfig(path: string, required: boolean): Promise<Record<string, unknown> | undefined> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (cause) {
    if (!required && (cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw kubeconfigError(`read kubeconfig ${path}`, 'the file could not be read', cause);
  }
  // Only here: inside a cluster there is no such file, and the parser is the largest part of this package.
  const { readYamlDocument, YamlFlaw } = await import('@drydock/api/yaml');
  let parsed: unknown;
  try {
    parsed = readYamlDocument(content);
  } catch (error) {
    if (!(error instanceof YamlFlaw)) throw error;
    throw kubeconfigError(`read kubeconfig ${path}`, `the file is not valid YAML: ${error.message}`);
  }
  if (parsed === null || parsed === undefined) return undefined;
  if (typeof parsed !== 'object' || Array.isArray(parsed)) {
    throw kubeconfigError(`read kubeconfig ${path}`, 'the file is not a Config object');
  }
  const file = parsed as Record<string, unknown>;
  if (file['kind'] !== undefined && file['kind'] !== 'Config') {
    throw kubeconfigError(`read kubeconfig ${path}`, `its kind is ${wordText(file['kind'])}, not Config`);
  }
  return file;
}

function entries<E>(
  file: Record<string, unknown>,
  list: keyof typeof SHAPES,
  field: string,
  path: string,
): Map<string, E> {
  const found = new Map<string, E>();
  const raw = file[list];
  if (raw === undefined || raw === null) return found;
  if (!Array.isArray(raw)) throw kubeconfigError(`read kubeconfig ${path}`, `${list} is not a list`);
  for (const item of raw as Record<string, unknown>[]) {
    const name = item?.['name'];
    if (typeof name !== 'string') throw kubeconfigError(`read kubeconfig ${path}`, `an entry of ${list} has no name`);
    if (found.has(name)) throw kubeconfigError(`read kubeconfig ${path}`, `${list} names ${shownText(name)} twice`);
    found.set(
      name,
      shaped(item[field] ?? {}, SHAPES[list], `read kubeconfig ${path}`, `${list} ${shownText(name)}`) as E,
    );
  }
  return found;
}

function merge<E>(into: Map<string, E>, from: Map<string, E>, settle: (entry: E) => E): void {
  for (const [name, entry] of from) if (!into.has(name)) into.set(name, settle(entry));
}

function absoluteUser(entry: UserEntry, folder: string): UserEntry {
  const user = absolute(entry, ['client-certificate', 'client-key', 'tokenFile'], folder);
  const command = user.exec?.command;
  // A bare name is searched in PATH; only one with a separator is a path.
  if (command === undefined || isAbsolute(command) || !command.includes('/')) return user;
  return { ...user, exec: { ...user.exec, command: join(folder, command) } };
}

function absolute<E extends object>(entry: E, fields: readonly (keyof E)[], folder: string): E {
  const out = { ...entry };
  for (const field of fields) {
    const value = out[field];
    if (typeof value === 'string' && value !== '' && !isAbsolute(value)) out[field] = join(folder, value) as E[keyof E];
  }
  return out;
}
