import type { Effect, Image, Inode, MemoryFs, NameChange } from './memory-fs.ts';

/**
 * What a disk may do with effects that were not synced.
 *
 * - `ext4`: names and modes form one log of which a prefix survives, and any sync commits all of it; a file's data survives only by its own sync, or by luck.
 * - `weak`: what POSIX promises. Any subset survives; a directory's sync commits its names, a file's sync its data and mode. What touches two directories
 *   is one effect, committed when both were synced.
 * - `torn`: `weak`, and what touches two directories may survive in one of them only.
 */
export type CrashModel = 'ext4' | 'weak' | 'torn';

/** A state in which a power cut may leave the disk. */
export interface CrashState {
  readonly image: Image;
  /** How many effects had happened. */
  readonly at: number;
  /** The marks set before the cut. */
  readonly marks: readonly string[];
}

/** What {@link crashStates} found. */
export interface CrashStates {
  /** Different disks for each set of marks. */
  readonly states: readonly CrashState[];
  /** Subsets looked at. */
  readonly explored: number;
}

interface Piece {
  readonly effect: Exclude<Effect, { kind: 'sync' | 'sync-all' | 'mark' }>;
  /** Inodes all of which must be synced. */
  readonly owners: readonly number[];
  readonly isData: boolean;
  /** Position in the order of happening. */
  readonly at: number;
}

/** Subsets of one moment beyond this are an error: an incomplete search must not look like a complete one. */
const MAX_SUBSETS = 1 << 18;

/** Every disk that a power cut may leave, at every moment since the file system was made. */
export function crashStates(
  { base, births, effects }: Pick<MemoryFs, 'base' | 'births' | 'effects'>,
  model: CrashModel,
): CrashStates {
  const inodes = new Map([...births, ...base.inodes]);
  const found = new Map<string, CrashState>();
  const marks: string[] = [];
  let certain: Piece[] = [];
  /** In order of their happening; those of a later moment include those of an earlier one, so looking before each sync and mark sees all. */
  let pending: { readonly piece: Piece; readonly missing: Set<number> }[] = [];
  let explored = 0;

  const look = (at: number): void => {
    const start = { inodes, entries: base.entries };
    const relevant = reachable(imageOf(start, certain), pending);
    for (const kept of subsets(relevant, model)) {
      explored += 1;
      const image = imageOf(
        start,
        [...certain, ...kept].sort((a, b) => a.at - b.at),
      );
      const key = `${marks.join()}\n${diskText(image)}`;
      if (!found.has(key)) found.set(key, { image, at, marks: [...marks] });
    }
  };
  for (const [at, effect] of effects.entries()) {
    if (effect.kind === 'mark') {
      look(at);
      marks.push(effect.label);
    } else if (effect.kind === 'sync' || effect.kind === 'sync-all') {
      look(at);
      for (const { missing, piece } of pending) {
        if (effect.kind === 'sync-all' || (model === 'ext4' && !piece.isData)) missing.clear();
        else missing.delete(effect.ino);
      }
      certain = [...certain, ...pending.filter(({ missing }) => missing.size === 0).map(({ piece }) => piece)];
      pending = pending.filter(({ missing }) => missing.size > 0);
    } else {
      for (const piece of piecesOf(effect, at, model)) pending.push({ piece, missing: new Set(piece.owners) });
    }
  }
  look(effects.length);
  return { states: [...found.values()], explored };
}

/** The pending pieces that can show: what only touches objects without any name, now or in any subset, would double the work for nothing. */
function reachable(certain: Image, pending: readonly { readonly piece: Piece }[]): readonly Piece[] {
  const seen = new Set([1]);
  const children = new Map([...certain.entries].map(([dir, names]) => [dir, new Set(names.values())]));
  for (const { piece } of pending) {
    if (piece.effect.kind !== 'names') continue;
    for (const { dir, ino } of piece.effect.changes)
      if (ino !== undefined) children.set(dir, (children.get(dir) ?? new Set()).add(ino));
  }
  for (const dir of seen) for (const child of children.get(dir) ?? []) seen.add(child);
  return pending.map(({ piece }) => piece).filter(({ owners }) => owners.some((owner) => seen.has(owner)));
}

function piecesOf(effect: Piece['effect'], at: number, model: CrashModel): readonly Piece[] {
  if (effect.kind !== 'names') return [{ effect, owners: [effect.ino], isData: effect.kind === 'data', at }];
  const dirs = [...new Set(effect.changes.map(({ dir }) => dir))];
  if (model !== 'torn') return [{ effect, owners: dirs, isData: false, at }];
  return dirs.map((dir) => {
    const changes = effect.changes.filter((change) => change.dir === dir);
    return { effect: { kind: 'names', changes }, owners: [dir], isData: false, at };
  });
}

function* subsets(pieces: readonly Piece[], model: CrashModel): Generator<readonly Piece[]> {
  if (model !== 'ext4') {
    yield* choices(pieces, () => true);
    return;
  }
  const log = pieces.filter(({ isData }) => !isData);
  for (let kept = 0; kept <= log.length; kept += 1) {
    const prefix = new Set(log.slice(0, kept));
    yield* choices(pieces, ({ isData }) => isData, prefix);
  }
}

function* choices(
  pieces: readonly Piece[],
  free: (piece: Piece) => boolean,
  always: ReadonlySet<Piece> = new Set(),
): Generator<readonly Piece[]> {
  const open = pieces.filter(free);
  const count = 2 ** open.length;
  if (count > MAX_SUBSETS)
    throw new Error(`${open.length} effects are not synced at one moment: too many subsets to try`);
  for (let bits = 0; bits < count; bits += 1) {
    const chosen = new Set(open.filter((_, index) => (bits >> index) & 1));
    yield pieces.filter((piece) => chosen.has(piece) || always.has(piece));
  }
}

function imageOf(base: Image, pieces: readonly Piece[]): Image {
  const inodes = new Map(base.inodes);
  const entries = new Map([...base.entries].map(([ino, names]) => [ino, new Map(names)]));
  for (const [ino, { kind }] of inodes) if (kind === 'directory' && !entries.has(ino)) entries.set(ino, new Map());
  const edit = (ino: number, change: Partial<Inode>): void => {
    const inode = inodes.get(ino);
    if (inode !== undefined) inodes.set(ino, { ...inode, ...change });
  };
  for (const { effect } of pieces) {
    if (effect.kind === 'data') edit(effect.ino, { data: effect.data });
    else if (effect.kind === 'mode') edit(effect.ino, { mode: effect.mode });
    else for (const change of effect.changes) apply(entries, change);
  }
  return { inodes, entries };
}

function apply(entries: Map<number, Map<string, number>>, { dir, name, ino }: NameChange): void {
  if (ino === undefined) entries.get(dir)?.delete(name);
  else entries.get(dir)?.set(name, ino);
}

/** All that can be reached from an inode (the root), one line each: the same text for the same disk. */
export function diskText(image: Image, path = '/', ino = 1): string {
  const inode = image.inodes.get(ino);
  if (inode === undefined) return `${path} nothing`;
  const line = `${path} ${inode.kind} ${inode.mode.toString(8)} ${inode.data}`;
  if (inode.kind !== 'directory') return line;
  const names = [...(image.entries.get(ino) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  return [line, ...names.map(([name, child]) => diskText(image, `${path === '/' ? '' : path}/${name}`, child))].join(
    '\n',
  );
}
