import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { shownText, wordText } from '@drydock/api/text';
import { readYamlDocument, YamlFlaw } from '@drydock/api/yaml';
import { z } from 'zod';
import { readSmallFile } from '../small-file.ts';
import { shell } from './next-command.ts';
import { TemplateProblem } from './problem.ts';
import type { Layer, TrustSettings } from './settings.ts';

/** Its keys take a few hundred. */
const MAX_BYTES = 64 * 1024;

const text = z.string().min(1);

/** The keys of the config file. A password is not among them: it belongs into a file of its own that only its owner can read. */
const schema = z.strictObject({
  url: text.optional(),
  username: text.optional(),
  passwordFile: text.optional(),
  thumbprint: text.optional(),
  ca: text.optional(),
  knownHosts: text.optional(),
  insecure: z.boolean().optional(),
  datacenter: text.optional(),
  datastore: text.optional(),
  folder: text.optional(),
  resourcePool: text.optional(),
  cluster: text.optional(),
  network: text.optional(),
  tag: text.optional(),
  owner: text.optional(),
  markKey: text.optional(),
  cacheDir: text.optional(),
  stateDir: text.optional(),
});

/** Where the config file is looked for when no flag names one. */
export function defaultConfigFile(env: Readonly<Record<string, string | undefined>>): string {
  const base = env['XDG_CONFIG_HOME'];
  return join(base === undefined || base === '' ? join(homedir(), '.config') : base, 'drydock', 'template.yaml');
}

/** Reads the config file as a layer. One that a flag names must exist; the default one may be absent. */
export async function configLayer(named: string | undefined, fallback: string): Promise<Layer> {
  const path = named ?? fallback;
  const content = await readSmallFile(path, MAX_BYTES).catch((cause: NodeJS.ErrnoException) => {
    if (named === undefined && cause.code === 'ENOENT') return undefined;
    throw new TemplateProblem({
      code: 'CONFIG_UNREADABLE',
      message: `the config file ${path} cannot be read: ${cause.message}`,
      next: shell`ls -l ${path}`,
      cause,
    });
  });
  return content === undefined ? { origin: 'config file' } : readConfig(content, path);
}

/** The text of a config file as a layer; files that it names are relative to its folder. */
export function readConfig(content: string, path: string): Layer {
  const { thumbprint, ca, knownHosts, insecure, passwordFile, markKey, cacheDir, stateDir, ...said } = checked(
    content,
    path,
  );
  const at = (file: string): string => resolve(dirname(path), file);
  const trust: TrustSettings = {
    ...(thumbprint === undefined ? {} : { thumbprint }),
    ...(ca === undefined ? {} : { ca: [at(ca)] }),
    ...(knownHosts === undefined ? {} : { knownHosts: [at(knownHosts)] }),
    ...(insecure === undefined ? {} : { insecure }),
  };
  return {
    origin: 'config file',
    ...(Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) as Partial<Layer>),
    ...(passwordFile === undefined ? {} : { passwordFile: at(passwordFile) }),
    ...(markKey === undefined ? {} : { markKeyFile: at(markKey) }),
    ...(cacheDir === undefined ? {} : { cacheDir: at(cacheDir) }),
    ...(stateDir === undefined ? {} : { stateDir: at(stateDir) }),
    trust,
  };
}

function checked(content: string, path: string): z.infer<typeof schema> {
  let given: unknown;
  try {
    given = readYamlDocument(content, { maxAliases: 0 }) ?? {};
  } catch (error) {
    if (!(error instanceof YamlFlaw)) throw error;
    throw invalid(path, `it is no YAML (${error.message})`);
  }
  if (typeof given === 'object' && given !== null && 'password' in given) {
    throw invalid(path, 'it has a password; put that into a file of its own and name it with passwordFile');
  }
  const { success, data, error } = schema.safeParse(given);
  if (!success) throw invalid(path, error.issues.map(sayIssue).join('; '));
  if (/:[^/]*@/.test(data.url?.replace(/^[a-z]+:\/\//i, '') ?? ''))
    throw invalid(path, 'its url has a password; name a passwordFile instead');
  return data;
}

function sayIssue(issue: z.core.$ZodIssue): string {
  const where = issue.path.join('.');
  if (issue.code === 'unrecognized_keys')
    return `it has the unknown ${issue.keys.length === 1 ? 'key' : 'keys'} ${shownText(issue.keys.map(wordText).join(', '))}; there are ${Object.keys(schema.shape).join(', ')}`;
  if (issue.code !== 'invalid_type') return `${where} is empty`;
  if (where === '') return 'it is not a list of "key: value" lines';
  return `${where} must be ${issue.expected === 'boolean' ? 'true or false' : 'a text'}`;
}

function invalid(path: string, why: string): TemplateProblem {
  return new TemplateProblem({
    code: 'CONFIG_INVALID',
    message: `the config file ${path} cannot be used: ${why}`,
    next: shell`\${EDITOR:-vi} ${path}`,
  });
}
