import { createHash } from 'node:crypto';
import { jsonText } from '@drydock/api/text';
import type { LeftOut } from './fields.ts';
import { redacted } from './secret-redaction.ts';

/** A file of a bundle. */
export interface BundledFile {
  readonly name: string;
  readonly about: string;
  readonly content: string;
}

/** What a bundle says of itself. */
export interface Manifest {
  readonly made: string;
  readonly drydock: string;
  readonly files: readonly {
    readonly name: string;
    readonly about: string;
    readonly bytes: number;
    readonly sha256: string;
  }[];
  /** How much stayed out, by where it stood. */
  readonly leftOut: Readonly<Record<string, number>>;
  /** What could not be read, and why. */
  readonly unread: readonly { readonly what: string; readonly why: string }[];
}

/** Bytes of one file, and of all. */
const MOST_FILE = 4 * 2 ** 20;
const MOST_ALL = 48 * 2 ** 20;
/** ms for one thing that is read. */
const DEADLINE = 20_000;

/** A bundle in the making. */
export interface Bundle {
  readonly left: LeftOut;
  /** Reads something; what cannot be read is noted, and is not the end of the rest. `undefined` from `read`: there is none here. */
  readonly add: (name: string, about: string, read: (signal: AbortSignal) => Promise<unknown>) => Promise<void>;
  readonly finished: (
    made: Date,
    drydock: string,
  ) => { readonly files: readonly BundledFile[]; readonly manifest: Manifest };
}

/** An empty bundle. */
export function createBundle(signal: AbortSignal): Bundle {
  const files: BundledFile[] = [];
  const left: LeftOut = new Map();
  const unread: { what: string; why: string }[] = [];
  let all = 0;
  return {
    left,
    add: async (name, about, read) => {
      const deadline = AbortSignal.timeout(DEADLINE);
      try {
        const value = await read(AbortSignal.any([signal, deadline]));
        if (value === undefined) return;
        const content = typeof value === 'string' ? value : `${jsonText(value, 2)}\n`;
        const bytes = Buffer.byteLength(content);
        if (bytes > MOST_FILE || all + bytes > MOST_ALL) {
          unread.push({ what: name, why: `it has ${bytes} bytes, which is more than a bundle takes` });
          return;
        }
        all += bytes;
        files.push({ name, about, content });
      } catch (error) {
        signal.throwIfAborted();
        const why = deadline.aborted ? `no answer within ${DEADLINE / 1000} s` : (error as Error).message;
        unread.push({ what: name, why: redacted(why) });
      }
    },
    finished: (made, drydock) => {
      const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const manifest: Manifest = {
        made: made.toISOString(),
        drydock,
        files: sorted.map(({ name, about, content }) => ({
          name,
          about,
          bytes: Buffer.byteLength(content),
          sha256: createHash('sha256').update(content).digest('hex'),
        })),
        leftOut: Object.fromEntries([...left].toSorted(([a], [b]) => (a < b ? -1 : 1))),
        unread: unread.toSorted((a, b) => (a.what < b.what ? -1 : 1)),
      };
      return { files: sorted, manifest };
    },
  };
}
