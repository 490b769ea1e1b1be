import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { UserInfo } from './objects.ts';
import type { RequestInfo } from './request-info.ts';

/** A rule of an audit policy, as far as this server knows them. */
interface PolicyRule {
  readonly level: string;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly { readonly group?: string; readonly resources?: readonly string[] }[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** A request that was answered. */
export interface AuditedRequest {
  readonly info: RequestInfo;
  /** With the query. */
  readonly uri: string;
  readonly user: UserInfo;
  /** In whose name it was asked. */
  readonly impersonated?: UserInfo;
  readonly userAgent: string;
  readonly code: number;
  /** Of a refusal. */
  readonly message?: string;
  /** What was sent; it is kept at level Request. */
  readonly body?: unknown;
  /** A watch is logged when it starts and when it ends. */
  readonly stage: 'ResponseStarted' | 'ResponseComplete';
  /** Of a created object, whose name its path does not have. */
  readonly name?: string;
  readonly received: Date;
}

/** Writes one line of JSON for each request that the policy names, before the answer goes out. */
export interface AuditLog extends Disposable {
  write(request: AuditedRequest): void;
}

const KNOWN = new Set(['level', 'users', 'userGroups', 'verbs', 'resources', 'namespaces', 'nonResourceURLs']);

const LEVELS = new Set(['None', 'Metadata', 'Request']);

interface Policy {
  readonly rules?: readonly PolicyRule[];
  readonly omitStages?: readonly string[];
}

/** Opens an audit log by a policy in JSON (`audit.k8s.io/v1`). Level RequestResponse is refused: answers are not kept. */
export function openAuditLog(policyFile: string, logFile: string): AuditLog {
  const { rules = [], omitStages = [] } = JSON.parse(readFileSync(policyFile, 'utf8')) as Policy;
  for (const rule of rules) {
    const unknown = Object.keys(rule).find((key) => !KNOWN.has(key));
    if (unknown !== undefined) throw new TypeError(`the audit policy has ${unknown}, which needs SERVERS=real`);
    if (!LEVELS.has(rule.level))
      throw new TypeError(`the audit policy has level ${rule.level}, which needs SERVERS=real`);
  }
  const file = openSync(logFile, 'a', 0o600);
  return {
    write: (request) => {
      if (omitStages.includes(request.stage)) return;
      const rule = rules.find((one) => concerns(one, request));
      if (rule === undefined || rule.level === 'None') return;
      writeSync(file, `${JSON.stringify(eventOf(request, rule.level))}\n`);
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}

const among = (set: readonly string[] | undefined, value: string): boolean =>
  set === undefined || set.length === 0 || set.includes(value);

function concerns(rule: PolicyRule, { info, user }: AuditedRequest): boolean {
  if (!among(rule.users, user.username) || !among(rule.verbs, info.verb)) return false;
  if (rule.userGroups !== undefined && rule.userGroups.length > 0) {
    if (!rule.userGroups.some((group) => user.groups.includes(group))) return false;
  }
  const { resource } = info;
  const { resources = [], namespaces = [], nonResourceURLs = [] } = rule;
  if (resource === undefined) {
    if (resources.length > 0 || namespaces.length > 0) return false;
    return nonResourceURLs.length === 0 || nonResourceURLs.some((url) => matches(url, info.path));
  }
  if (nonResourceURLs.length > 0) return false;
  if (!among(namespaces, resource.namespace)) return false;
  const combined = resource.subresource === '' ? resource.resource : `${resource.resource}/${resource.subresource}`;
  return (
    resources.length === 0 ||
    resources.some(
      ({ group = '', resources: names = [] }) =>
        group === resource.group && (names.length === 0 || names.some((one) => one === '*' || one === combined)),
    )
  );
}

function matches(url: string, path: string): boolean {
  return url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)));
}

function eventOf(request: AuditedRequest, level: string): unknown {
  const { info, uri, user, impersonated, userAgent, code, message, name, received, stage, body } = request;
  const { resource } = info;
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level,
    auditID: randomUUID(),
    stage,
    requestURI: uri,
    verb: info.verb,
    user,
    ...(impersonated === undefined ? {} : { impersonatedUser: impersonated }),
    userAgent,
    ...(resource === undefined ? {} : { objectRef: objectRef(resource, name) }),
    responseStatus: { metadata: {}, ...(message === undefined ? {} : { status: 'Failure', message }), code },
    ...(level === 'Request' && body !== undefined ? { requestObject: body } : {}),
    requestReceivedTimestamp: received.toISOString(),
    stageTimestamp: new Date().toISOString(),
  };
}

function objectRef(resource: NonNullable<RequestInfo['resource']>, created: string | undefined): unknown {
  const { group, version, namespace, subresource } = resource;
  const name = resource.authorizedName === '' ? created : resource.authorizedName;
  return {
    resource: resource.resource,
    ...(namespace === '' ? {} : { namespace }),
    ...(name === undefined || name === '' ? {} : { name }),
    ...(group === '' ? {} : { apiGroup: group }),
    apiVersion: version,
    ...(subresource === '' ? {} : { subresource }),
  };
}
