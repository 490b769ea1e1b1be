import { readJson } from '@drydock/api';
import { shownText } from '@drydock/api/text';
import type { ClusterPlan, DowngradePolicy, StubSecret, TemplatePublication } from '@drydock/boot-images';
import { replaceFileDurable } from '@drydock/durable';
import { z } from 'zod';
import { UsageError } from '../exit.ts';
import { readSmallFile } from '../small-file.ts';
import { MAX_PLAN } from '../template/plan-file.ts';

/** A plan as it is printed and kept: what would be done, and what it was told about how. */
export interface ImagePlan extends ClusterPlan {
  readonly drydockImagePlan: 1;
  readonly told: {
    readonly downgrade: DowngradePolicy;
    readonly stubSecret: StubSecret;
    readonly templates: TemplatePublication;
    readonly keep: number;
  };
}

const text = z.string();
const names = z.array(text);
const edit = z.looseObject({ path: z.array(z.union([text, z.number()])), to: z.union([text, z.looseObject({})]) });
const call = z.looseObject({ step: text, calls: names, text, machine: text.optional() });

/** As much of a plan as an edit by hand could break. What it means is compared with what would be done. */
const schema = z.looseObject({
  drydockImagePlan: z.literal(1),
  told: z.object({
    downgrade: z.enum(['keep', 'replace']),
    stubSecret: z.enum(['InPlace', 'Managed']),
    templates: z.enum(['pointer', 'swap']),
    keep: z.number().int().min(0),
  }),
  version: z.literal(1),
  cluster: text,
  sets: names.optional(),
  steps: z.array(
    z.discriminatedUnion('kind', [
      z.looseObject({
        kind: z.literal('image'),
        ...{ server: text, folder: text, name: text, release: text, sets: names, steps: z.array(call) },
        from: z.looseObject({ location: text, sha256: text }).optional(),
      }),
      z.looseObject({ kind: z.literal('canary'), machine: text, image: text, policy: text, sets: names }),
      z.looseObject({ kind: z.literal('stub'), secret: text, sets: names }),
      z.looseObject({ kind: z.literal('point'), set: text, to: text, from: text.optional(), edits: z.array(edit) }),
      z.looseObject({ kind: z.literal('clone'), set: text, of: text, name: text, image: z.looseObject({ to: text }) }),
      z.looseObject({ kind: z.literal('keep'), set: text, of: text, name: text }),
      z.looseObject({ kind: z.literal('variable'), set: text, cluster: text, variable: text, to: text }),
      z.looseObject({ kind: z.literal('copy'), does: z.enum(['retire', 'keep', 'delete']), template: text }),
      z.looseObject({ kind: z.literal('collect'), server: text, folder: text, name: text, reason: text }),
    ]),
  ),
  rest: z.array(z.looseObject({ set: text, step: text, why: text })),
});

/** Keeps a plan. Only its owner can read it: it says what is to be changed, and where. */
export async function writeImagePlan(path: string, plan: ImagePlan): Promise<void> {
  await replaceFileDurable(path, `${JSON.stringify(plan, undefined, 2)}\n`, { mode: 0o600 });
}

/** Reads a plan that was kept, or printed as JSON. Throws `UsageError`. */
export async function readImagePlan(path: string): Promise<ImagePlan> {
  const content = await readSmallFile(path, MAX_PLAN).catch((cause: Error) => {
    throw unusable(path, cause.message, cause);
  });
  let given: unknown;
  try {
    given = readJson(content);
  } catch (cause) {
    throw unusable(path, 'it is no JSON', cause);
  }
  const checked = schema.safeParse(given);
  if (checked.success) return given as ImagePlan;
  const [issue] = checked.error.issues;
  const where = shownText(issue?.path.join('.') ?? '');
  throw unusable(path, `it is no plan of this version (${where}: ${shownText(issue?.message ?? '')})`);
}

function unusable(path: string, why: string, cause?: unknown): UsageError {
  return new UsageError(`the plan ${path} cannot be used: ${why}; make one: drydock image plan --out ${path}`, {
    cause,
  });
}
