import type { TemplateProgress } from '../store.ts';
import type { TemplateImage } from '../wish.ts';
import type { OpenOva } from './ova.ts';

/** Gives the bytes of an image: the cache, in production. */
export interface OvaSource {
  /** Resolves when the whole image is here and has the digest that was asked for. */
  open(
    image: TemplateImage,
    options: {
      readonly onProgress?: ((progress: TemplateProgress) => void) | undefined;
      readonly signal?: AbortSignal;
    },
  ): Promise<OpenOva>;
}
