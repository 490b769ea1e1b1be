import { createHmac, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type LoginNotes, loginAccount, readLoginNotes } from '@drydock/vsphere';
import { changeStateFile } from './state-file.ts';

/** What the commands of this user on this machine tell each other about refused logins. */
export interface LoginFile extends LoginNotes {
  /** Tells one password from another by 16 bits of a keyed digest: whoever reads them knows next to nothing of it. */
  version(password: string): Promise<string>;
}

interface Kept {
  /** Of the digests, base64. */
  readonly key?: string;
  /** By server and user. */
  readonly notes?: Readonly<Record<string, unknown>>;
}

/** Beside the cache of images. */
export const LOGIN_FILE: string = join(homedir(), '.cache', 'drydock', 'logins.json');

/** Notes in a file that only this user may read. It is made with the first login. */
export function loginFile(path: string = LOGIN_FILE): LoginFile {
  const fresh = randomBytes(16).toString('base64');
  const read = async (): Promise<Kept> => {
    try {
      const found: unknown = JSON.parse(await readFile(path, 'utf8'));
      return typeof found === 'object' && found !== null ? (found as Kept) : {};
    } catch {
      // There is none, or none that can be used: then nothing is known.
      return {};
    }
  };
  const notesOf = ({ notes = {} }: Kept, key: string): ReturnType<typeof readLoginNotes> =>
    readLoginNotes(JSON.stringify(notes[key] ?? []));
  return {
    read: async (server, user) => notesOf(await read(), keyOf(server, user)),
    change: (server, user, next) =>
      changeStateFile(path, async () => {
        const kept = await read();
        const key = keyOf(server, user);
        const { [key]: before, ...others } = kept.notes ?? {};
        const notes = next(notesOf(kept, key));
        if (notes.length === 0 && before === undefined) return undefined;
        const all = { key: kept.key ?? fresh, notes: notes.length === 0 ? others : { ...others, [key]: notes } };
        return `${JSON.stringify(all, undefined, 1)}\n`;
      }),
    version: async (password) =>
      createHmac('sha256', (await read()).key ?? fresh)
        .update(password)
        .digest('hex')
        .slice(0, 4),
  };
}

function keyOf(server: string, user: string): string {
  return `${loginAccount(user)} at ${server}`;
}
