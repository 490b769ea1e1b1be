import type { Libraries, OvfDescriptor } from '@drydock/vsphere';
import type { TemplateProgress } from '../store.ts';
import type { TemplateImage } from '../wish.ts';
import type { OpenOva } from './ova.ts';

/** How much an image weighs, as far as that is known before it is read. */
export interface ImageSize {
  readonly bytes?: number;
  /** It is on this machine already. */
  readonly here: boolean;
  /** What is in it, where it is here and can be read; its digest was not checked. */
  readonly contents?: {
    readonly descriptor: OvfDescriptor;
    /** Bytes of a file that the descriptor names; 0 where it is missing. */
    readonly sizeOf: (href: string) => number;
  };
}

/** Gives the bytes of an image: the cache, in production. */
export interface OvaSource {
  /** Resolves when the whole image is here and has the digest that was asked for. */
  open(
    image: TemplateImage,
    options: {
      readonly onProgress?: ((progress: TemplateProgress) => void) | undefined;
      /** Where items of content libraries are read from: those of the vCenter that the image goes to. */
      readonly libraries?: Libraries;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<OpenOva>;
  /** Reads at most the image's descriptor, and downloads nothing. Absent: nobody knows. */
  size?(
    image: TemplateImage,
    options: { readonly libraries?: Libraries; readonly signal?: AbortSignal | undefined },
  ): Promise<ImageSize>;
}
