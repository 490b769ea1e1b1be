import type { ApiCall } from './audit-log.ts';
import { type Grant, grantText, permits } from './rbac-manifests.ts';

/** Calls that none of the grants permits. What is served every account may ask (ClusterRole system:discovery). */
export function uncovered(calls: readonly ApiCall[], grants: readonly Grant[]): readonly ApiCall[] {
  const asks = ({ verb, resource }: ApiCall): boolean => verb === 'get' && /^\/apis(\/|$)/.test(resource);
  return calls.filter((call) => !asks(call) && !grants.some((grant) => permits(grant, call)));
}

/** Grants without which every call would still be permitted. */
export function superfluous(calls: readonly ApiCall[], grants: readonly Grant[]): readonly string[] {
  return grants
    .filter((one) => {
      const rest = grants.filter((grant) => grant !== one);
      return uncovered(calls, rest).length === 0;
    })
    .map(grantText);
}

/** Parts of grants that no call needed: a verb on a resource, or a name. */
export function unusedParts(calls: readonly ApiCall[], grants: readonly Grant[]): readonly string[] {
  return grants.flatMap((grant) => {
    const { verbs, resources, resourceNames = [] } = grant.rule;
    const used = calls.filter((call) => permits(grant, call));
    const pairs = verbs.flatMap((verb) => resources.map((resource) => ({ verb, resource })));
    return [
      ...pairs
        .filter(({ verb, resource }) => !used.some((call) => call.verb === verb && call.resource === resource))
        .map(({ verb, resource }) => `${verb} ${resource} of ${grantText(grant)}`),
      ...resourceNames
        .filter((name) => !used.some((call) => call.name === name))
        .map((name) => `${name} of ${grantText(grant)}`),
    ];
  });
}
