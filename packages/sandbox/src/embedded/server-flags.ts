import { needsRealServers } from '../backend.ts';

/** What the flags of kube-apiserver that the embedded one has mean for it. */
export interface ServerFlags {
  readonly audit?: { readonly policy: string; readonly log: string };
  /** Whether a watch may begin with the list (`sendInitialEvents`). */
  readonly watchList?: boolean;
}

/** Reads flags of kube-apiserver, as `--name=value`. Throws for one that only the real server has. */
export function readServerFlags(flags: readonly string[]): ServerFlags {
  let found: ServerFlags = {};
  const audit: { policy?: string; log?: string } = {};
  for (const flag of flags) {
    const [, name = flag, value = ''] = /^--([^=]+)=(.*)$/.exec(flag) ?? [];
    switch (name) {
      case 'audit-policy-file':
        audit.policy = value;
        break;
      case 'audit-log-path':
        audit.log = value;
        break;
      case 'audit-log-mode':
        // Each event is in the file before its answer, whatever the mode.
        break;
      case 'feature-gates':
        if (value !== 'WatchList=false' && value !== 'WatchList=true') throw needsRealServers(`flag ${flag}`);
        found = { ...found, watchList: value === 'WatchList=true' };
        break;
      default:
        throw needsRealServers(`flag ${flag}`);
    }
  }
  const { policy, log } = audit;
  if (policy === undefined || log === undefined) return found;
  return { ...found, audit: { policy, log } };
}
