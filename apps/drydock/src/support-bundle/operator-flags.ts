import { redacted } from './secret-redaction.ts';

/** Flags of the operator whose values say how it works; of any other its name is kept. */
const KEPT: ReadonlySet<string> = new Set([
  'roles',
  'lease-namespace',
  'lease-duration',
  'renew-deadline',
  'retry-period',
  'identity',
  'port',
  'bind-address',
  'page',
  'cache-dir',
  'cache-size',
  'image-mirror',
  'image-mirrors-file',
  'keep',
  'vsphere-provider-namespace',
  'vcenter',
  'vcenter-secret',
  'vcenter-url',
  'vcenter-ca',
  'vcenter-pin',
  'vcenter-insecure',
  'mark-key-secret',
  'release-account',
  'watch-paths',
  'watch-ignored-keys',
  'downgrade',
  'templates',
  'stub-secret',
  'cluster-operator',
  'log-level',
]);

/** Arguments of a container of ours: names of all flags, values of those that say how it works. */
export function shownArguments(given: readonly unknown[]): readonly string[] {
  let open: string | undefined;
  return given.map((one) => {
    if (typeof one !== 'string') return '***';
    const [, name, value] = /^--([a-z][a-z-]{0,60})(?:=(.*))?$/s.exec(one) ?? [];
    if (name === undefined) {
      // A role of ours, or what belongs to the flag before.
      if (open === undefined) return /^(?:operator|page)$/.test(one) ? one : '***';
      return KEPT.has(open) ? redacted(one) : '***';
    }
    open = name;
    if (value === undefined) return `--${name}`;
    return `--${name}=${KEPT.has(name) ? redacted(value) : '***'}`;
  });
}
