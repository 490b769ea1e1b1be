import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What names a blob. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string; readonly variant?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The parts of an index or a manifest that are used here. */
export interface Manifest {
  readonly mediaType?: string;
  readonly manifests?: readonly Descriptor[];
  readonly config?: Descriptor;
  readonly layers?: readonly Descriptor[];
}

/** Media types that are written. */
export const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** Digest as it names a blob. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Where a blob is in a folder of the OCI image layout. */
export function blobPath(folder: string, digest: string): string {
  return join(folder, 'blobs', 'sha256', digest.replace('sha256:', ''));
}

/** A blob whose content is what its digest says. */
export function readBlob(folder: string, digest: string): Buffer {
  const bytes = readFileSync(blobPath(folder, digest));
  if (digestOf(bytes) !== digest)
    throw new Error(`image: ${blobPath(folder, digest)} is not what its name says; copy the base anew.`);
  return bytes;
}

/** Begins an empty folder of the OCI image layout. */
export function createLayout(folder: string): void {
  mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}

/** Writes a blob and gives what names it. */
export function putBlob(folder: string, bytes: Uint8Array, mediaType: string): Descriptor {
  const digest = digestOf(bytes);
  writeFileSync(blobPath(folder, digest), bytes);
  return { mediaType, digest, size: bytes.length };
}

/** Copies a blob of another layout, and looks whether it is what its digest says. */
export function takeBlob(from: string, to: string, { digest }: Descriptor): void {
  if (existsSync(blobPath(to, digest))) return;
  readBlob(from, digest);
  copyFileSync(blobPath(from, digest), blobPath(to, digest));
}

/** JSON as bytes. */
export function jsonBytes(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
