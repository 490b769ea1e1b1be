import type { Infrastructure } from '@drydock/api';
import { neverKept, type Skip, skip } from '../decide/decide.ts';
import type { ImageFacts } from '../image-facts.ts';
import { type KeptSet, setText } from '../observe/kept-set.ts';
import type { SetOutcome } from '../status/subject.ts';

/** The outcome for a set in a cluster where an upstream controller acts, which is nothing that anybody has to change; `facts` as far as they could be read. */
export function besideUpstream(refusal: string, facts: ImageFacts): Skip & ImageFacts {
  const message = `${refusal}, and Drydock leaves them to it`;
  return { ...skip(false, 'LeftToUpstream', 'left to upstream', message), ...facts };
}

/** The outcome for a set that the effective manager does not cover, and why it does not; one that none could cover is told as that. */
export function notSelected(set: KeptSet, why: string, infrastructure?: Infrastructure): SetOutcome {
  const never = neverKept(set, infrastructure);
  if (never !== undefined) return never;
  return {
    kind: 'skip',
    counted: false,
    reason: 'NotSelected',
    brief: 'not selected',
    message: `${setText(set)}: ${why}`,
    nextStep: 'select it in spec.managedBootImages of machineconfiguration/cluster',
  };
}

/** The outcome for every set while the cluster is being upgraded. */
export const duringUpgrade: SetOutcome = {
  kind: 'waiting',
  phase: 'Pending',
  reason: 'ClusterNotStable',
  letsTry: true,
  brief: 'waits for the cluster upgrade',
  message: 'boot images are updated when the newest entry of clusterversion/version is Completed',
};

/** The outcome for a set whose pin came, went or changed since it was asked about. */
export function pinChanged(set: KeptSet): SetOutcome {
  return {
    ...{ kind: 'waiting', phase: 'Pending', reason: 'PinChanged', brief: 'its pin has changed' },
    message: `the pin of ${setText(set)} has changed: it is decided again`,
  };
}
