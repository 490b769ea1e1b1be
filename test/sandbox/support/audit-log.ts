import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A call that an API server authorized or refused. */
export interface ApiCall {
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  /** Plural, with the subresource: `bootimages/status`; a path where it was no resource. */
  readonly resource: string;
  /** '' for what has none. */
  readonly namespace: string;
  /** As RBAC sees it: that of the object, or of the only one that a list or watch selects; '' for a creation. */
  readonly name: string;
  readonly code: number;
}

/** The audit log of an API server. */
export interface AuditLog {
  /** For the API server. */
  readonly flags: readonly string[];
  /** All calls so far, in the order of their answers. */
  readonly calls: () => readonly ApiCall[];
}

/** As audit.k8s.io/v1 has it. */
interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  /** In whose name it was asked. */
  readonly impersonatedUser?: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** Has an API server log what the ServiceAccounts of a namespace ask it, in `folder`. */
export function auditLog(folder: string, namespace: string): AuditLog {
  return auditLogOf(folder, { userGroups: [`system:serviceaccounts:${namespace}`] });
}

/** Has an API server log what anybody changes in these resources, by group, in `folder`. */
export function changeLog(folder: string, resources: Readonly<Record<string, readonly string[]>>): AuditLog {
  const groups = Object.entries(resources).map(([group, of]) => ({ group, resources: of }));
  return auditLogOf(folder, { verbs: ['create', 'update', 'patch', 'delete'], resources: groups });
}

function auditLogOf(folder: string, rule: object): AuditLog {
  const [policy, log] = [join(folder, 'audit-policy.json'), join(folder, 'audit.log')];
  const rules = [{ level: 'Metadata', ...rule }, { level: 'None' }];
  const omitStages = ['RequestReceived'];
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages, rules }));
  writeFileSync(log, '');
  const known: ApiCall[] = [];
  let read = 0;
  return {
    // An event is in the file before its answer is on the way.
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-mode=blocking-strict'],
    calls: () => {
      const more = after(log, read);
      // The last line may still be on its way.
      const whole = more.subarray(0, more.lastIndexOf('\n') + 1);
      read += whole.length;
      for (const line of whole.toString().split('\n').slice(0, -1))
        known.push(...callsOf(JSON.parse(line) as AuditEvent));
      return known.slice();
    },
  };
}

/** What a file has from this byte on. */
function after(path: string, from: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - from));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}

function callsOf({
  verb,
  requestURI,
  user,
  impersonatedUser = user,
  objectRef,
  responseStatus,
}: AuditEvent): readonly ApiCall[] {
  const { apiGroup = '', resource, subresource, namespace = '', name = '' } = objectRef ?? {};
  const call: ApiCall = {
    user: impersonatedUser.username,
    verb,
    group: apiGroup,
    resource: resource === undefined ? requestURI : subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    // The log takes the name of a new object from its body, which the authorizer has not seen.
    name: verb === 'create' ? '' : name,
    code: responseStatus?.code ?? 0,
  };
  // What a patch creates must be allowed twice, the second time with its name.
  return verb === 'patch' && call.code === 201 ? [call, { ...call, verb: 'create' }] : [call];
}
