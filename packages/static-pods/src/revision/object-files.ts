import type { ConfigMap, Secret } from '@drydock/api';
import type { FileSpec } from '@drydock/durable';
import { StaticPodError } from '../errors.ts';

/** The two kinds of objects that become directories; also the names of the directories above them. */
export type SourceKind = 'secrets' | 'configmaps';

/** A Secret or ConfigMap. */
export type Source = Secret | ConfigMap;

/**
 * Where files lie: `revision` is one revision's own directory; `shared` is the directory of certificates that all revisions use, where
 * installer and cert syncer must agree, or modes would flip.
 */
export type Place = 'revision' | 'shared';

/** Keys and bytes of an object; no data at all is the same as empty data. `binaryData` of a ConfigMap counts. */
export function bytesOf(kind: SourceKind, object: Source): ReadonlyMap<string, Uint8Array> {
  const { metadata } = object;
  for (const key of Object.keys({ ...object.data, ...('binaryData' in object ? object.binaryData : {}) }))
    if (!isKey(key))
      throw new StaticPodError(
        'BAD_CONTENT',
        sourceText(kind, metadata.namespace ?? '', metadata.name),
        `the key ${JSON.stringify(key.slice(0, 80))} cannot be the name of a file`,
      );
  const files = new Map<string, Uint8Array>();
  const binary = kind === 'secrets' ? object.data : 'binaryData' in object ? object.binaryData : undefined;
  for (const [key, text] of Object.entries(binary ?? {})) files.set(key, decode(kind, object, key, text));
  if (kind === 'configmaps')
    for (const [key, text] of Object.entries(object.data ?? {})) files.set(key, Buffer.from(text, 'utf8'));
  return files;
}

/** The files of an object with exact modes; `change` edits their bytes. */
export function filesOf(
  kind: SourceKind,
  object: Source,
  place: Place,
  change: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes,
): ReadonlyMap<string, FileSpec> {
  return new Map(
    [...bytesOf(kind, object)].map(([key, bytes]) => [key, { content: change(bytes), mode: modeOf(kind, key, place) }]),
  );
}

/** Permissions of a key's file: scripts can be run, secrets are their owner's alone. */
export function modeOf(kind: SourceKind, key: string, place: Place): number {
  if (key.endsWith('.sh')) return kind === 'secrets' ? 0o700 : 0o755;
  return kind === 'configmaps' && place === 'shared' ? 0o644 : 0o600;
}

/** `Secret ns/name`, for messages. */
export function sourceText(kind: SourceKind, namespace: string, name: string): string {
  return `${kind === 'secrets' ? 'Secret' : 'ConfigMap'} ${namespace}/${name}`;
}

/** What the API server lets through (IsConfigMapKey): it is not relied upon where paths are made of it. */
function isKey(key: string): boolean {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(key) && key !== '.' && !key.startsWith('..');
}

function decode(kind: SourceKind, { metadata }: Source, key: string, text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  // Buffer skips what is not base64; a certificate must not shrink in silence.
  if (bytes.toString('base64').replaceAll('=', '') !== text.replaceAll(/[=\s]/g, ''))
    throw new StaticPodError(
      'BAD_CONTENT',
      sourceText(kind, metadata.namespace ?? '', metadata.name),
      `the key ${key} is not base64`,
    );
  return bytes;
}
