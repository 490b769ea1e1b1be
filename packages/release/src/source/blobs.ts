import type { Readable } from 'node:stream';

/** What a manifest says of something that lies elsewhere. */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:…` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string };
}

/** Where the parts of an image come from: a registry, or a folder. What it gives is not believed before its digest was seen. */
export interface BlobSource extends AsyncDisposable {
  /** As a person named it. */
  readonly name: string;
  /** The manifest that the name means, with its media type where the source says one. */
  readonly root: (
    call: SourceCall,
  ) => Promise<{ readonly bytes: Buffer; readonly mediaType: string; readonly digest?: string }>;
  readonly manifest: (descriptor: Descriptor, call: SourceCall) => Promise<Buffer>;
  readonly blob: (descriptor: Descriptor, call: SourceCall) => Promise<Readable>;
}

/** Options of a call to a source. */
export interface SourceCall {
  readonly signal: AbortSignal;
}
