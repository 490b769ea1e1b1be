import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@drydock/crd';

/** A request that an API server answered, as its audit log has it. */
export interface AuditedCall {
  /** ms since the epoch, when the answer was there. */
  readonly at: number;
  /** In whose name. */
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  /** Plural, with the subresource: `widgets/status`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
  /** What the server says of a refusal. */
  readonly message: string;
  readonly dryRun: boolean;
  /** The definition that was sent, of writes of definitions. */
  readonly sent?: JsonObject;
}

/** The audit log of an API server: the witness of a rehearsal. */
export interface AuditTrail {
  /** For the API server. */
  readonly flags: readonly string[];
  /** All writes so far, in the order of their answers. */
  readonly calls: () => readonly AuditedCall[];
}

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly stageTimestamp: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly requestObject?: JsonObject;
}

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** Has an API server log every write in `folder`; of definitions with what was sent. */
export function auditTrail(folder: string): AuditTrail {
  const [policy, log] = [join(folder, 'audit-policy.json'), join(folder, 'audit.log')];
  const definitions = [{ group: 'apiextensions.k8s.io', resources: ['customresourcedefinitions'] }];
  const rules = [
    { level: 'Request', verbs: ['create', 'update', 'patch'], resources: definitions },
    { level: 'Metadata', verbs: WRITES },
    { level: 'None' },
  ];
  const omitStages = ['RequestReceived', 'ResponseStarted'];
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages, rules }));
  writeFileSync(log, '');
  return {
    // An event is in the file before its answer is on the way.
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-mode=blocking-strict'],
    calls: () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => callOf(JSON.parse(line) as AuditEvent)),
  };
}

function callOf(event: AuditEvent): AuditedCall {
  const { verb, requestURI, stageTimestamp, user, impersonatedUser = user, objectRef = {}, requestObject } = event;
  const { apiGroup = '', resource = requestURI, subresource, namespace = '', name = '' } = objectRef;
  return {
    at: Date.parse(stageTimestamp),
    user: impersonatedUser.username,
    ...{ verb, group: apiGroup, namespace, name },
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    code: event.responseStatus?.code ?? 0,
    message: event.responseStatus?.message ?? '',
    dryRun: /[?&]dryRun=/.test(requestURI),
    ...(requestObject === undefined ? {} : { sent: requestObject }),
  };
}
