import { assertLinear, type Growth } from '@drydock/model';

/** A reader of bytes that somebody else wrote, and all that it is held to. */
export interface Format<V = unknown> {
  /** In the plural: `kubeconfigs`. */
  readonly name: string;
  /** Texts that are read, each from another corner of the grammar. Where the format keeps secrets there is `SECRET`. */
  readonly examples: readonly (string | Buffer)[];
  /** Words and marks of the grammar, which mutations put in. */
  readonly pieces: readonly string[];
  /** What opens a level, and what closes it. */
  readonly nest: readonly [open: string, close: string];
  /** Makes whole again what would have all mutants refused, such as checksums. */
  readonly repair?: (bytes: Buffer) => Buffer;
  readonly read: (bytes: Buffer) => V | Promise<V>;
  /** Whether an error is this reader's refusal, and nothing that escaped it. */
  readonly refuses: (error: unknown) => boolean;
  /** Throws where the value is not what the text says: by a round trip, or by a second reader. */
  readonly check: (value: V, bytes: Buffer) => void | Promise<void>;
  /** Set where a refusal repeats a server's own sentence, of bounded length: whoever shows it puts it on one line. */
  readonly spoken?: true;
  /** Set where nothing is ever refused, and the value says what could not be read. */
  readonly takesAll?: true;
}

/** Stands in the examples wherever a format keeps what nobody may read. No refusal has it. */
export const SECRET = 'Kn0ck-kn0ck-hunter2';

/** Hostile input of one kind for one reader, of any size. */
export interface Hostile {
  readonly name: string;
  /** Throws where it costs more than it weighs, or holds the event loop for too long. */
  readonly assert: () => Promise<unknown>;
}

/** One reader and its hostile inputs by name. */
export function growing<I>(
  reader: string,
  inputs: Readonly<Record<string, (size: number) => I>>,
  how: Omit<Growth<I>, 'name' | 'input'>,
): readonly Hostile[] {
  return Object.entries(inputs).map(([what, input]) => {
    const name = `${reader}: ${what}`;
    return { name, assert: () => assertLinear({ ...how, name, input }) };
  });
}

/** Pieces, each with its number, until there are so many characters. */
export function pieces(size: number, piece: (number: string) => string, joint: string = ''): string {
  const all: string[] = [];
  for (let length = 0; length < size; length += (all.at(-1)?.length ?? 0) + joint.length)
    all.push(piece(all.length.toString(36)));
  return all.join(joint);
}

/** `begin` and `end` around a middle, so often that there are so many characters. */
export function nested(size: number, begin: string, middle: string, end: string): string {
  const depth = Math.ceil(size / (begin.length + end.length));
  return begin.repeat(depth) + middle + end.repeat(depth);
}
