import { readFile } from 'node:fs/promises';
import { replaceFileDurable } from '@drydock/durable';
import type { Plan } from '@drydock/templates';
import { z } from 'zod';
import { exitCode } from '../exit.ts';
import { quoted } from './next-command.ts';
import { TemplateProblem } from './problem.ts';

/** A plan as it is kept in a file. */
export interface PlanFile {
  readonly drydockPlan: 1;
  /** The command that makes it anew. */
  readonly command: string;
  /** A pointer file to replace after a publication. */
  readonly pointer?: { readonly file: string; readonly variable: string };
  readonly plan: Plan;
}

const text = z.string();
const placement = z.looseObject({ server: text, datacenter: text, folder: text });
const owned = z.looseObject({ placement, owner: text });

/** As much of a plan as an edit by hand could break; what it means is the store's. */
const schema = z.object({
  drydockPlan: z.literal(1),
  command: text,
  pointer: z.object({ file: text, variable: text }).optional(),
  plan: z.intersection(
    z.looseObject({
      version: z.literal(1),
      server: text,
      folder: text,
      target: text,
      world: text,
      steps: z.array(z.object({ step: text, text, calls: z.array(text) })),
    }),
    z.discriminatedUnion('kind', [
      z.looseObject({
        kind: z.literal('publish'),
        wish: z.looseObject({
          placement,
          cluster: text,
          base: text,
          image: z.object({ release: text, location: text, sha256: text }),
        }),
      }),
      z.looseObject({ kind: z.literal('revert'), wish: z.looseObject({ ...owned.shape, name: text }) }),
      z.looseObject({ kind: z.literal('adopt'), wish: z.looseObject({ ...owned.shape, reference: text }) }),
      z.looseObject({ kind: z.literal('gc'), wish: owned }),
    ]),
  ),
});

/** Keeps a plan. Only its owner can read it: the address of an image may have a signature in it. */
export async function writePlan(path: string, file: PlanFile): Promise<void> {
  await replaceFileDurable(path, `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600 });
}

/** Reads a plan that {@link writePlan} kept. */
export async function readPlan(path: string): Promise<PlanFile> {
  const content = await readFile(path, 'utf8').catch((cause: Error) => {
    throw unusable(path, cause.message, cause);
  });
  let given: unknown;
  try {
    given = JSON.parse(content);
  } catch (cause) {
    throw unusable(path, 'it is no JSON', cause);
  }
  const checked = schema.safeParse(given);
  if (checked.success) return given as PlanFile;
  const [issue] = checked.error.issues;
  throw unusable(path, `it is no plan of this version (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''})`);
}

function unusable(path: string, why: string, cause?: unknown): TemplateProblem {
  return new TemplateProblem({
    code: 'PLAN_UNUSABLE',
    message: `the plan ${path} cannot be used: ${why}`,
    exit: exitCode.usage,
    next: `ls -l ${quoted(path)}`,
    cause,
  });
}
