import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readJson } from '@drydock/api';
import { shownText, wordWithoutSecrets } from '@drydock/api/text';
import { replaceFileDurable } from '@drydock/durable';
import type { Plan } from '@drydock/templates';
import { z } from 'zod';
import { exitCode } from '../exit.ts';
import { readSmallFile } from '../small-file.ts';
import { shell } from './next-command.ts';
import { TemplateProblem } from './problem.ts';

/** A plan as it is kept in a file. Its image goes by its digest: wherever the file is applied, that is found or given. */
export interface PlanFile {
  readonly drydockPlan: 2;
  /** A pointer file to replace after a publication, and how it is called on the template. */
  readonly pointer?: { readonly file: string; readonly variable: string; readonly consumer?: string };
  /** Pointer files whose templates a collection keeps. */
  readonly keeps?: readonly { readonly file: string; readonly variable: string }[];
  /** Name of the image's file, or its address: where to look for it first. */
  readonly source?: string;
  readonly plan: Plan;
}

/** A step has a few hundred bytes, and each template of a folder has one at most. */
export const MAX_PLAN: number = 2 << 20;

const text = z.string();
const placement = z.looseObject({ server: text, datacenter: text, folder: text });
const owned = z.looseObject({ placement, owner: text });

/** As much of a plan as an edit by hand could break; what it means is the store's. */
const schema = z.object({
  drydockPlan: z.literal(2),
  pointer: z.object({ file: text, variable: text, consumer: text.optional() }).optional(),
  keeps: z.array(z.object({ file: text, variable: text })).optional(),
  source: text.optional(),
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
          image: z.object({ release: text, sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
        }),
      }),
      z.looseObject({ kind: z.literal('revert'), wish: z.looseObject({ ...owned.shape, name: text }) }),
      z.looseObject({ kind: z.literal('adopt'), wish: z.looseObject({ ...owned.shape, reference: text }) }),
      z.looseObject({ kind: z.literal('gc'), wish: owned }),
    ]),
  ),
});

/** Keeps a plan. Only its owner can read it: it says which vCenter is to be changed, and how. */
export async function writePlan(path: string, file: PlanFile): Promise<void> {
  const { plan } = file;
  const kept = plan.kind === 'publish' ? { ...plan, wish: { ...plan.wish, image: byDigest(plan.wish.image) } } : plan;
  await replaceFileDurable(path, `${JSON.stringify({ ...file, plan: kept }, undefined, 2)}\n`, { mode: 0o600 });
}

function byDigest({ release, sha256 }: { readonly release: string; readonly sha256: string }): object {
  return { release, sha256 };
}

/** How a plan calls an image: the name of its file without the folder, or its address without what may be secret. */
export function sourceName(argument: string): string {
  if (/^https?:/i.test(argument)) return wordWithoutSecrets(argument);
  return basename(argument.startsWith('file:') ? fileURLToPath(argument) : argument);
}

/** Reads a plan that {@link writePlan} kept. The location of its image is empty. */
export async function readPlan(path: string): Promise<PlanFile> {
  const content = await readSmallFile(path, MAX_PLAN).catch((cause: Error) => {
    throw unusable(path, cause.message, cause);
  });
  return parsePlan(content, path);
}

/** The text of a plan; `path` is for messages. */
export function parsePlan(content: string, path: string): PlanFile {
  let given: unknown;
  try {
    given = readJson(content);
  } catch {
    throw unusable(path, 'it is no JSON');
  }
  const checked = schema.safeParse(given);
  if (checked.success) return given as PlanFile;
  const [issue] = checked.error.issues;
  throw unusable(
    path,
    `it is no plan of this version (${shownText(issue?.path.join('.') ?? '')}: ${shownText(issue?.message ?? '')})`,
  );
}

function unusable(path: string, why: string, cause?: unknown): TemplateProblem {
  return new TemplateProblem({
    code: 'PLAN_UNUSABLE',
    message: `the plan ${path} cannot be used: ${why}`,
    exit: exitCode.usage,
    next: shell`ls -l ${path}`,
    cause,
  });
}
