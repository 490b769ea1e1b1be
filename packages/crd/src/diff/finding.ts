import { type Json, showJson } from '../schema/json.ts';
import type { Era } from '../validate/eras.ts';
import type { RuleId } from './step.ts';

/** Verdicts about an object, or about a definition, that is to live under another schema. */
export const FINDING_CLASSES = [
  'CRD_REJECTED',
  'DELETED_DATA',
  'CONVERT',
  'REQUIRED_ROOT',
  'ROOT_CEL',
  'IMMUTABLE',
  'BLOCK_STATUS',
  'BLOCK_SPEC',
  'WEBHOOK',
  'PRUNE',
  'LATENT',
  'UNDECIDED',
  'BLOCK_SSA',
  'BLOCK_CREATE',
  'DEFAULT_SHIFT',
  'ORPHAN',
] as const;

/** See {@link FINDING_CLASSES}; the order is that of a report, worst first. */
export type FindingClass = (typeof FINDING_CLASSES)[number];

/** What a class means, and what to do about it. */
export interface ClassMeaning {
  /** As a clause about objects. */
  readonly means: string;
  /** As a sentence. */
  readonly remedy: string;
}

/** The catalogue of classes. */
export const CLASS_MEANINGS: Readonly<Record<FindingClass, ClassMeaning>> = {
  CRD_REJECTED: {
    means: 'the API server will refuse the target definition',
    remedy:
      'Migrate the stored objects to a version that both have, then take the old one out of status.storedVersions.',
  },
  DELETED_DATA: { means: 'objects that the target expects are gone', remedy: 'Restore them from a backup first.' },
  CONVERT: {
    means: 'stored bytes are in a version that the target cannot serve',
    remedy: 'Migrate the stored objects to a version that both have.',
  },
  REQUIRED_ROOT: {
    means: 'every status write is refused until the status has a new required field',
    remedy: 'Let its writer set the field before the swap, or go through a bridge (drydock crd bridge).',
  },
  ROOT_CEL: {
    means: 'a rule at the root refuses every write, on every server',
    remedy: 'Change the object so that it keeps the rule before the swap.',
  },
  IMMUTABLE: {
    means: 'the value is illegal and protected: it cannot be healed after the swap',
    remedy: 'Change the value before the swap, while the live schema still allows it.',
  },
  BLOCK_STATUS: {
    means: 'status writes will be refused (422)',
    remedy: 'Let its writer drop the value before the swap, or go through a bridge (drydock crd bridge).',
  },
  BLOCK_SPEC: {
    means: 'writes of spec, labels and finalizers will be refused (422)',
    remedy: 'Change the value before the swap.',
  },
  WEBHOOK: {
    means: 'a webhook that fails closed loses its backend',
    remedy: 'Delete the webhook configuration before the workload behind it.',
  },
  PRUNE: { means: 'the value is lost at the next write', remedy: 'Copy it away, or accept the loss with --ack.' },
  LATENT: {
    means: 'illegal, and tolerated only while nobody changes it',
    remedy: 'Let its writer drop the value now; the write that does is accepted everywhere.',
  },
  UNDECIDED: { means: 'only the server can tell', remedy: 'Run again with --server-probe.' },
  BLOCK_SSA: {
    means: 'server-side apply fails, other writes pass',
    remedy: 'Remove the value by PUT or JSON patch.',
  },
  BLOCK_CREATE: {
    means: 'a restore from a backup will be refused, other writes pass',
    remedy: 'Correct the value before a backup is needed.',
  },
  DEFAULT_SHIFT: {
    means: 'the effective value changes without a write',
    remedy: 'Set the field explicitly where the old value matters.',
  },
  ORPHAN: { means: 'nobody will manage it', remedy: 'Remove it, or accept that it stays.' },
};

/** Ways of writing. */
export type Endpoint = 'spec' | 'status' | 'create' | 'apply';

/** One verdict. */
export interface Finding {
  readonly class: FindingClass;
  readonly rule: RuleId;
  readonly crd: string;
  readonly version: string;
  /** `namespace/name` or `name`; '' where the definition is meant. */
  readonly object: string;
  /** What was looked at; '' where unknown. */
  readonly resourceVersion: string;
  /** As the server writes it in a 422. */
  readonly path: string;
  readonly endpoints: readonly Endpoint[];
  readonly blocking: boolean;
  /** Era of the server that runs, and of the one that will. */
  readonly eraNow: Era;
  readonly eraTarget: Era;
  /** What is wrong, without the value. */
  readonly what: string;
  /** Shape and size of the value; the value itself only where it was asked for. */
  readonly sample: string;
  readonly remedy: string;
}

/** `string of 12`, `object of 3`: what may be told of a value without telling it. Values can be secrets. */
export function sampleOf(value: Json | undefined, show: boolean): string {
  if (value === undefined) return 'absent';
  const text = showJson(value);
  if (show) return text.length > 200 ? `${text.slice(0, 199)}…` : text;
  const size = Buffer.byteLength(text);
  const kind =
    value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value === 'bigint' ? 'number' : typeof value;
  return kind === 'null' ? kind : `${kind}, ${size} bytes`;
}
