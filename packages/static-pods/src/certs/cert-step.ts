import type { DirectoryMatch, FileSpec } from '@drydock/durable';

/** An object's files as the cache or the server has them; `missing` where it does not exist. */
export type Found = ReadonlyMap<string, FileSpec> | 'missing';

/** What is known of one certificate directory and its object. */
export interface CertView {
  readonly optional: boolean;
  /** By the cache, which may be late. */
  readonly cached: Found;
  /** The directory against the cached files; `absent` says that nothing is there. */
  readonly disk: DirectoryMatch;
  /** By the server, once it was asked. */
  readonly live?: Found;
  /** The directory against the server's files. */
  readonly diskToLive?: DirectoryMatch;
}

/** The next thing to do for one directory. */
export type CertStep =
  | { readonly do: 'nothing' }
  /** The cache must not be trusted with a change. */
  | { readonly do: 'ask-server' }
  | { readonly do: 'write'; readonly files: ReadonlyMap<string, FileSpec> }
  | { readonly do: 'remove' }
  | { readonly do: 'fail'; readonly reason: string };

/** What to do next: the disk changes only by what the server itself said, never by the cache. */
export function decideCert({ optional, cached, disk, live, diskToLive }: CertView): CertStep {
  if (cached === 'missing') {
    if (!optional) return { do: 'fail', reason: 'it does not exist and is required' };
    if (disk === 'absent') return { do: 'nothing' };
    if (live === undefined) return { do: 'ask-server' };
    // There after all: the cache will hear of it.
    return live === 'missing' ? { do: 'remove' } : { do: 'nothing' };
  }
  if (disk === 'equal') return { do: 'nothing' };
  if (live === undefined) return { do: 'ask-server' };
  if (live === 'missing') return { do: 'fail', reason: 'it was deleted a moment ago' };
  return diskToLive === 'equal' ? { do: 'nothing' } : { do: 'write', files: live };
}
