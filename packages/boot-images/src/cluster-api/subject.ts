import type { PolicySubject } from '../policy/policy-for.ts';
import type { RotatedSet } from './set.ts';

/** A set of Cluster API as policies select it. */
export function policySubjectOf({ kind, object, failureDomains }: RotatedSet): PolicySubject {
  const [failureDomain, ...more] = failureDomains;
  const where = more.length > 0 || failureDomain === undefined ? {} : { failureDomain };
  return { kind, labels: object.metadata.labels, ...where };
}
