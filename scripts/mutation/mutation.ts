import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** One change of meaning that some test must notice. */
export interface Mutation {
  /** Short and unique in its list. */
  readonly name: string;
  /** The source file, from the package's folder. */
  readonly file: string;
  /** Text that stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Test files from the repository's root, the cheapest first; the first red one ends the mutation. */
  readonly tests: readonly string[];
  /** Why no test can notice it. Such a mutation is applied all the same, and must survive. */
  readonly equivalent?: string;
}

const List = z.strictObject({
  /** Tests for those that name none. */
  tests: z.array(z.string()).min(1),
  mutations: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        file: z.string(),
        find: z.string().min(1),
        replace: z.string(),
        tests: z.array(z.string()).min(1).optional(),
        equivalent: z.string().min(1).optional(),
      }),
    )
    .min(1),
});

/** A list that cannot be used: the text names the mutation, and what was expected. */
export class MutationError extends Error {
  override readonly name = 'MutationError';
}

/** Reads `mutations.yaml` of a package and checks each against the sources: it applies at one place, and what it leaves can be parsed. */
export function readMutations(root: string, workspace: string): readonly Mutation[] {
  const path = join(root, workspace, 'mutations.yaml');
  const read = List.safeParse(parse(readFileSync(path, 'utf8')));
  if (!read.success) throw new MutationError(`${path}: ${z.prettifyError(read.error)}`);
  const names = new Set<string>();
  return read.data.mutations.map(({ tests = read.data.tests, equivalent, ...mutation }) => {
    if (names.has(mutation.name)) throw new MutationError(`${path}: two mutations are named "${mutation.name}"`);
    names.add(mutation.name);
    const whole: Mutation = { ...mutation, tests, ...(equivalent === undefined ? {} : { equivalent }) };
    mutate(readFileSync(join(root, workspace, mutation.file), 'utf8'), whole);
    return whole;
  });
}

/** The source with the mutation in it. Fails where it does not apply at exactly one place, changes nothing, or leaves what cannot be parsed. */
export function mutate(source: string, { name, file, find, replace }: Mutation): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    const places = parts.length === 1 ? 'is not there' : `stands there ${parts.length - 1} times`;
    throw new MutationError(`"${name}": its text ${places} in ${file}; change the list with the source`);
  }
  const mutated = parts.join(replace);
  if (mutated === source) throw new MutationError(`"${name}": it changes nothing in ${file}`);
  try {
    stripTypeScriptTypes(mutated);
  } catch (cause) {
    // A file that cannot be parsed turns every test red: it would count as noticed and prove nothing.
    throw new MutationError(`"${name}": ${file} cannot be parsed any more`, { cause });
  }
  return mutated;
}
