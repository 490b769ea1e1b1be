import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { commandLine, fault } from '../../apps/drydock/src/testing/command-line.ts';
import { nodeCommands } from '../../apps/node/src/main.ts';
import { root } from './blocks.ts';
import { commandsOf, type Words } from './shell.ts';

/** Programs of others that the book names, of which nothing is known here but that they exist. */
const OTHERS: ReadonlySet<string> = new Set(
  `base64 cat cd command curl date docker drydock-vcenter echo export find git go govc grep jq ldd ln ls mkdir node openssl packer printf set sha256sum skopeo sort source tar terraform umask`.split(
    ' ',
  ),
);
const KUBECTL: ReadonlySet<string> = new Set(
  `annotate apply config create delete describe edit exec get label logs patch port-forward replace rollout version wait`.split(
    ' ',
  ),
);
/** Folders of the repository: a path into one of them must be there. */
const OURS = /^(?:\.\/)?(?:api|apps|bench|deploy|docs|packages|scripts|test)\//;

const json = (file: string): Readonly<Record<string, object>> => JSON.parse(readFileSync(join(root, file), 'utf8'));

/** Says of a line of a shell why it cannot run as it stands: a verb, a flag, a target, a value or a file that there is not. */
export async function commandChecker(): Promise<(line: string) => string | undefined> {
  const program = await commandLine();
  const nodeProgram = nodeCommands(new AbortController().signal);
  const scripts = new Set(Object.keys(json('package.json')['scripts'] ?? {}));
  const targets = new Set(
    [...readFileSync(join(root, 'Makefile'), 'utf8').matchAll(/^([a-z]+):/gm)].map(([, name = '']) => name),
  );
  const values = parse(readFileSync(join(root, 'deploy/chart/values.yaml'), 'utf8')) as object;

  const complaint = (words: Words): string | undefined => {
    const [name = '', verb = '', ...rest] = words.map((word) => word.replace(/^\.\/(?=drydock|kubectl-drydock)/, ''));
    const lost = words.find(
      (word) => OURS.test(word) && !/\{|^deploy\/drydock$/.test(word) && !existsSync(join(root, word)),
    );
    if (lost !== undefined) return `there is no ${lost}`;
    switch (name) {
      case 'drydock':
        if (verb === 'node') return fault(nodeProgram, rest);
        return fault(
          program,
          [verb, ...rest].filter((word) => word !== ''),
        );
      case 'drydock-node':
        return fault(nodeProgram, [verb, ...rest]);
      case 'drydock-sandbox':
        return ['up', 'build', 'down', 'status'].includes(verb) ? undefined : `the sandbox has no ${verb}`;
      case 'npm':
        if (verb === 'run') return scripts.has(rest[0] ?? '') ? undefined : `there is no script ${rest[0]}`;
        return ['install', 'ci', 'test'].includes(verb) ? undefined : `npm ${verb} is not known here`;
      case 'make': {
        const missing = [verb, ...rest].find((word) => word !== '' && !word.includes('=') && !targets.has(word));
        return missing === undefined ? undefined : `the Makefile has no ${missing}`;
      }
      case 'kubectl':
        if (verb === 'drydock') return fault(program, rest);
        // What runs in the pod.
        if (verb === 'exec' && rest.includes('--')) return complaint(rest.slice(rest.indexOf('--') + 1));
        return kubectlComplaint([verb, ...rest]);
      case 'helm':
        return helmComplaint(verb, rest, values);
      default:
        return OTHERS.has(name) ? undefined : `nobody knows the program ${name}`;
    }
  };
  return (line) => {
    for (const words of commandsOf(line)) {
      const said = complaint(words);
      if (said !== undefined) return said;
    }
    return undefined;
  };
}

function kubectlComplaint(words: Words): string | undefined {
  // A namespace may come first.
  const [verb = ''] = words[0] === '-n' ? words.slice(2) : words;
  return KUBECTL.has(verb) ? undefined : `kubectl ${verb} is not known here`;
}

function helmComplaint(verb: string, rest: Words, values: object): string | undefined {
  if (!['install', 'upgrade', 'uninstall', 'template'].includes(verb)) return `helm ${verb} is not known here`;
  for (const [at, word] of rest.entries()) {
    if (word !== '--set') continue;
    const path = (rest[at + 1] ?? '').split('=')[0] ?? '';
    const found = path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], values);
    if (found === undefined) return `the chart has no value ${path}`;
  }
  return undefined;
}
