import { resolve } from 'node:path';
import { readJson } from '@drydock/api';
import { jsonText, shownText } from '@drydock/api/text';
import { replaceFileDurable } from '@drydock/durable';
import type { ApplyPlan } from '@drydock/release';
import { z } from 'zod';
import { UsageError } from '../exit.ts';
import { readSmallFile } from '../small-file.ts';
import type { AudienceFlags, SeenPayload } from './payload-source.ts';

/** A plan as it is printed and kept: what would be done, and what it was made of. */
export interface ReleasePlan extends ApplyPlan {
  readonly drydockReleasePlan: 1;
  readonly told: ReleaseTold;
}

/** What a plan was made of. */
export interface ReleaseTold {
  /** Where the payload is: a folder or a layout by its whole path, an image by its digest. */
  readonly payload: string;
  /** Of the manifests that are for the cluster. */
  readonly manifests: string;
  /** Uid of its Namespace kube-system. */
  readonly cluster: string;
  readonly leaseNamespace: string;
  readonly profile: string;
  readonly featureSet: string;
  readonly gate: readonly string[];
  readonly capabilities?: string;
  readonly plain?: true;
  readonly architecture?: string;
}

/** Bytes of a plan: a thousand objects with a hundred differences each. */
const MAX_PLAN = 64 << 20;

const text = z.string();
const texts = z.array(text);
const id = z.object({ group: text, kind: text, namespace: text, name: text });

/** As much of a plan as an edit by hand could break. What it means is compared with what would be done. */
const schema = z.looseObject({
  drydockReleasePlan: z.literal(1),
  told: z.object({
    ...{ payload: text, manifests: text, cluster: text, leaseNamespace: text, profile: text, featureSet: text },
    ...{ gate: texts, capabilities: text.optional(), plain: z.literal(true).optional(), architecture: text.optional() },
  }),
  ...{ version: text, owner: text, mode: z.enum(['initializing', 'updating', 'reconciling']) },
  counts: z.record(text, z.number().int().min(0)),
  phases: z.array(
    z.looseObject({
      nodes: z.array(
        z.looseObject({
          objects: z.array(
            z.looseObject({
              id,
              action: z.enum(['create', 'update', 'delete', 'wait', 'nothing', 'refuse']),
              pin: text.optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** What says of which payload a plan is, wherever it is read again. */
export function toldOf(
  name: string,
  flags: AudienceFlags & { readonly leaseNamespace: string },
  { digest }: Pick<SeenPayload, 'digest'>,
  { manifests, cluster }: { readonly manifests: string; readonly cluster: string },
): ReleaseTold {
  const { profile, featureSet, gate, capabilities, plain, architecture, leaseNamespace } = flags;
  return {
    ...{ payload: placeOf(name, digest), manifests, cluster, leaseNamespace, profile, featureSet, gate },
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(plain === undefined ? {} : { plain }),
    ...(architecture === undefined ? {} : { architecture }),
  };
}

function placeOf(name: string, digest: string | undefined): string {
  if (name.startsWith('oci:')) return `oci:${resolve(name.slice('oci:'.length))}`;
  return digest === undefined ? resolve(name) : `${name.replace(/[:@][^/]*$/, '')}@${digest}`;
}

/** Keeps a plan. Only its owner can read it: it says what is to be changed, and where. */
export async function writeReleasePlan(path: string, plan: ReleasePlan): Promise<void> {
  await replaceFileDurable(path, `${jsonText(plan, 2)}\n`, { mode: 0o600 });
}

/** Reads a plan that was kept, or printed as JSON. Throws `UsageError`. */
export async function readReleasePlan(path: string): Promise<ReleasePlan> {
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
  if (checked.success) return given as ReleasePlan;
  const [issue] = checked.error.issues;
  const where = shownText(issue?.path.join('.') ?? '');
  throw unusable(path, `it is no plan of this version (${where}: ${shownText(issue?.message ?? '')})`);
}

function unusable(path: string, why: string, cause?: unknown): UsageError {
  const next = `drydock release plan PAYLOAD --out ${path}`;
  return new UsageError(`the plan ${path} cannot be used: ${why}; make one: ${next}`, { cause });
}
