import { isObject, type Json, type JsonObject } from '@drydock/crd';
import type { ApplyEffect, ApplyReason } from '../apply-error.ts';
import { objectIn, own } from '../json.ts';
import type { ApplyMode } from '../owner.ts';

/** Why a ClusterOperator is not as a release wants it. */
export interface OperatorVerdict {
  readonly reason: ApplyReason;
  readonly effect: ApplyEffect;
  /** A sentence with the operator's name. */
  readonly message: string;
  /** Since when, where a condition says so. */
  readonly since?: Date;
}

/**
 * Judges a live ClusterOperator by the one in the payload: available first, then degraded, then versions; the first that is wrong is told. What is absent is
 * wrong. undefined: it is as it should be.
 */
export function evaluateClusterOperator(
  wanted: JsonObject,
  live: JsonObject | undefined,
  mode: ApplyMode,
): OperatorVerdict | undefined {
  const name = nameOf(wanted);
  const versions = versionsOf(wanted);
  if (versions.size === 0) {
    const message = `Cluster operator ${name} does not declare expected versions`;
    return { reason: 'ClusterOperatorNoVersions', effect: 'Fail', message };
  }
  if (live === undefined)
    return {
      reason: 'UpdatePayloadResourceNotFound',
      effect: 'Fail',
      message: `Cluster operator ${name} is not there`,
    };
  const conditions = conditionsOf(live);
  const available = conditions.get('Available');
  if (available?.status !== 'True')
    return {
      reason: 'ClusterOperatorNotAvailable',
      effect: 'Fail',
      message: `Cluster operator ${name} is not available${said(available)}`,
      ...sinceOf(available),
    };
  const degraded = conditions.get('Degraded');
  if (degraded?.status !== 'False')
    return {
      reason: 'ClusterOperatorDegraded',
      effect: mode === 'initializing' ? 'Report' : 'FailAfterInterval',
      message: `Cluster operator ${name} is degraded${said(degraded)}`,
      ...sinceOf(degraded),
    };
  const reached = versionsOf(live);
  const undone = [...versions].filter(([operand, version]) => reached.get(operand) !== version);
  if (mode === 'initializing' || undone.length === 0) return undefined;
  const steps = undone
    .map(([operand, version]) => {
      const now = reached.get(operand);
      return `${operand}${now === undefined || now === '' ? '' : ` from ${now}`} to ${version}`;
    })
    .toSorted();
  return {
    reason: 'ClusterOperatorUpdating',
    effect: 'None',
    message: `Cluster operator ${name} is updating versions: ${steps.join(', ')}`,
  };
}

interface OperatorCondition {
  readonly status: string;
  readonly text: string;
  readonly since: string;
}

function conditionsOf(live: JsonObject): ReadonlyMap<string, OperatorCondition> {
  return new Map(
    listIn(live, 'conditions').map((condition) => [
      textIn(condition, 'type'),
      {
        status: textIn(condition, 'status'),
        text: [textIn(condition, 'reason'), textIn(condition, 'message')].filter((one) => one !== '').join(': '),
        since: textIn(condition, 'lastTransitionTime'),
      },
    ]),
  );
}

function versionsOf(operator: JsonObject): ReadonlyMap<string, string> {
  return new Map(listIn(operator, 'versions').map((one) => [textIn(one, 'name'), textIn(one, 'version')]));
}

function listIn(operator: JsonObject, field: string): readonly JsonObject[] {
  const list = own(objectIn(operator, 'status'), field);
  return Array.isArray(list) ? list.filter((one: Json) => isObject(one)) : [];
}

function textIn(object: JsonObject, field: string): string {
  const value = own(object, field);
  return typeof value === 'string' ? value : '';
}

function nameOf(operator: JsonObject): string {
  return textIn(objectIn(operator, 'metadata'), 'name');
}

function said(condition: OperatorCondition | undefined): string {
  if (condition === undefined) return ': it does not say';
  return condition.text === '' ? '' : `: ${condition.text}`;
}

function sinceOf(condition: OperatorCondition | undefined): { readonly since?: Date } {
  const since = new Date(condition?.since ?? '');
  return Number.isNaN(since.getTime()) ? {} : { since };
}
