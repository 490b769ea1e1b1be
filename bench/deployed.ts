import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readManifests } from '@drydock/crd';

/** What a Deployment of `deploy/` says about memory: the environment in which its figures are measured. */
export function deployedMemory(of: 'operator' | 'release'): Readonly<Record<string, string>> {
  const file = join(import.meta.dirname, '../deploy', of, 'deployment.yaml');
  const [deployment] = readManifests(readFileSync(file, 'utf8'), file) as unknown as readonly Deployed[];
  const env = deployment?.spec.template.spec.containers.flatMap((container) => container.env ?? []) ?? [];
  const said = env.filter(({ name }) => /^(NODE_OPTIONS|MALLOC_)/.test(name));
  if (said.length === 0) throw new Error(`bench: ${file} says nothing about memory`);
  return Object.fromEntries(said.map(({ name, value }) => [name, value]));
}

interface Deployed {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly env?: readonly { readonly name: string; readonly value: string }[] }[];
      };
    };
  };
}
