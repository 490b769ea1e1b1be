import type { TemplateProgress } from '@drydock/templates';
import { bytesText, durationText } from './amounts.ts';

/** What an upload took. */
export interface UploadMeter {
  readonly see: (progress: TemplateProgress) => void;
  readonly text: () => string;
  readonly event: () => object;
}

/** Notes what an upload takes: from the first word of it to the first word of what comes next, since of a small image there is but one. */
export function uploadMeter(now: () => number = () => performance.now()): UploadMeter {
  let from: number | undefined;
  let until: number | undefined;
  let bytes = 0;
  const took = (): number => Math.max(1, (until ?? now()) - (from ?? now()));
  return {
    see: (progress) => {
      if (progress.step === 'Uploading') {
        from ??= now();
        until = undefined;
        bytes = Math.max(bytes, progress.bytes ?? 0);
      } else if (from !== undefined) until ??= now();
    },
    text: () => (from === undefined ? 'uploaded' : `${bytesText(bytes)} uploaded in ${durationText(took())}`),
    event: () => (from === undefined ? {} : { uploadedBytes: bytes, uploadMs: Math.round(took()) }),
  };
}
