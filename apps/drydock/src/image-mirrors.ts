import { readFile } from 'node:fs/promises';
import { UsageError } from './exit.ts';

/**
 * Where an image is read from, given where the release or a policy says that it is: `from=to` puts another beginning in place of one, the longest that matches and leads to the same host and folder. What is
 * read has to have the digest that the release names, wherever it comes from. Fails with `UsageError`.
 */
export function imageMirrors(pairs: readonly string[]): (location: string) => string {
  const mirrors = pairs.map((pair) => {
    // An address may have the sign in its query, but what stands before its path has not.
    const [, from = '', to = ''] = /^([a-z]+:\/\/[^=]*)=([a-z]+:\/\/.*)$/i.exec(pair) ?? [];
    if (!/^https?:/i.test(from) || !/^(https?|file):/i.test(to) || !URL.canParse(to))
      throw new UsageError(
        '--image-mirror expects <from>=<to>, two addresses, as https://rhcos.mirror.openshift.com/=https://mirror.example/rhcos/',
      );
    return { from, to };
  });
  const longestFirst = mirrors.toSorted((a, b) => b.from.length - a.from.length);
  return (location) => {
    for (const mirror of longestFirst) {
      const place = placeIn(mirror, location);
      if (place !== undefined) return place;
    }
    return location;
  };
}

/** A location in a mirror; undefined where it does not begin as the mirror's, or would lead out of it: the rest of it is text of others, who could name another host for the mirror's password, or a file beside its folder. */
function placeIn({ from, to }: { readonly from: string; readonly to: string }, location: string): string | undefined {
  if (!location.startsWith(from)) return undefined;
  const place = `${to}${location.slice(from.length)}`;
  const [mirror, url] = [URL.parse(to), URL.parse(place)];
  if (mirror === null || url === null) return undefined;
  const sameHost = (['protocol', 'host', 'username', 'password'] as const).every((part) => url[part] === mirror[part]);
  const isInside = url.pathname.startsWith(mirror.pathname) && !(url.protocol === 'file:' && /%2f/i.test(url.pathname));
  return sameHost && isInside ? place : undefined;
}

/** Where mirrors are named: in arguments, which every user of the machine can read; in a file; in `DRYDOCK_IMAGE_MIRRORS`. */
export interface MirrorSources {
  readonly arguments?: readonly string[] | undefined;
  readonly file?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The pairs of all sources, one a line in file and environment. A user and password belong into one of these two. Fails with `UsageError`. */
export async function mirrorPairs(sources: MirrorSources): Promise<readonly string[]> {
  const { arguments: given = [], file, env } = sources;
  if (given.some((pair) => /=[a-z]+:\/\/.*@/is.test(pair) && hasUser(pair)))
    throw new UsageError(
      'an --image-mirror has a user or password, which every user of this machine could read: write the pair into a file, and give --image-mirrors-file FILE, or set DRYDOCK_IMAGE_MIRRORS',
    );
  const written = file === undefined ? '' : await textOf(file);
  const lines = [written, env['DRYDOCK_IMAGE_MIRRORS'] ?? ''].flatMap((text) => text.split('\n'));
  return [...given, ...lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))];
}

/** What cannot be read counts as one that has: it is refused anyway, without being repeated. */
function hasUser(pair: string): boolean {
  const url = URL.parse(pair.slice(pair.search(/=[a-z]+:\/\//i) + 1));
  return url === null || url.username !== '' || url.password !== '';
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`--image-mirrors-file ${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
