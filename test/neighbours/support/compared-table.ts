import type { Difference } from './compared-differences.ts';
import type { Stage } from './compared-facts.ts';

const ALWAYS: readonly Stage[] = ['install', 'update', 'hold'];
const LATER: readonly Stage[] = ['update', 'hold'];
const HOLD: readonly Stage[] = ['hold'];

const STALE = 'what a release wrote and the next one does not have is taken out; upstream never takes anything away';
const FILLED = 'what the server fills in is no difference; upstream writes it again each time it looks';
const POOLS = 'CustomResourceDefinition.apiextensions.k8s.io machineconfigpools.machineconfiguration.openshift.io';
const TWO = 'there are two managers: each holds a Lease of its own';

/** All that differs, with its reason. A difference that is not here turns the test red, and so does one that is not seen. */
export const DIFFERENCES: readonly Difference[] = [
  {
    ...{ stages: ALWAYS, subject: '*', place: 'metadata.ownerReferences[0]*', upstream: '*', ours: '–' },
    reason: 'what a release has applied stays when ClusterVersion is deleted, instead of being collected with it',
  },
  {
    ...{ stages: ALWAYS, subject: '*', place: 'metadata.annotations[drydock.dev/made-by]' },
    ...{ upstream: '–', ours: 'ClusterVersion version' },
    reason: 'after a crash it tells what we made from what others made under the same name',
  },
  ...['Namespace shop', 'ConfigMap shop/settings', 'Deployment.apps shop/operator', 'DaemonSet.apps shop/agent'].map(
    (subject): Difference => ({
      ...{ stages: LATER, subject, place: 'metadata.labels.legacy', upstream: 'yes', ours: '–' },
      reason: STALE,
    }),
  ),
  ...['metadata.annotations.legacy', 'data.legacy'].map(
    (place): Difference => ({
      ...{ stages: LATER, subject: 'ConfigMap shop/settings', place, upstream: 'yes', ours: '–' },
      reason: STALE,
    }),
  ),
  {
    ...{ stages: LATER, subject: POOLS, place: 'metadata.annotations[release.openshift.io/feature-set]' },
    ...{ upstream: 'Default', ours: '–', reason: STALE },
  },
  {
    ...{ stages: ['update'], subject: 'Namespace shop', place: 'writes', upstream: '–', ours: 'update' },
    reason: 'nothing but a label goes',
  },
  {
    ...{ stages: LATER, subject: 'ConfigMap shop/settings', place: 'binaryData.logo', upstream: 'AQ==', ours: 'Ag==' },
    reason: 'binary data is data; upstream of that time sees no difference in it',
  },
  ...['Deployment.apps shop/operator', 'DaemonSet.apps shop/agent'].map(
    (subject): Difference => ({
      ...{ stages: LATER, subject, place: 'spec.template.metadata.annotations[shop.example.com/legacy]' },
      ...{ upstream: 'yes', ours: '–', reason: STALE },
    }),
  ),
  ...['Secret shop/login', 'StatefulSet.apps shop/store', 'PriorityClass.scheduling.k8s.io shop'].map(
    (subject): Difference => ({
      ...{ stages: HOLD, subject, place: 'writes', upstream: 'update', ours: '–', reason: FILLED },
    }),
  ),
  {
    ...{ stages: LATER, subject: 'Job.batch shop/migrate', place: 'writes', upstream: 'update', ours: '–' },
    reason: FILLED,
  },
  {
    ...{ stages: HOLD, subject: 'Job.batch shop/migrate-again', place: 'writes', upstream: 'update', ours: '–' },
    reason: FILLED,
  },
  ...['metadata.labels.mine', 'metadata.annotations.mine'].map(
    (place): Difference => ({
      ...{ stages: HOLD, subject: 'MachineConfigPool.machineconfiguration.openshift.io shop', place },
      ...{
        upstream: '–',
        ours: 'yes',
        reason:
          'what people add stays; of kinds that it has no types for upstream writes labels and annotations as a whole',
      },
    }),
  ),
  {
    ...{ stages: HOLD, subject: 'Deployment.apps shop/operator', place: 'spec.replicas', upstream: '1', ours: '2' },
    reason: 'where the manifest says no number whoever scales it decides, as newer versions of upstream have it',
  },
  {
    ...{ stages: HOLD, subject: 'Deployment.apps shop/operator', place: 'writes', upstream: 'update', ours: '–' },
    reason: 'only the number of replicas would be put back',
  },
  {
    ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: 'history[*].verified' },
    ...{ upstream: 'false', ours: 'true' },
    reason: 'upstream has no signature of the release that it was started from; Drydock asks for one of each',
  },
  {
    ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: 'capabilities.knownCapabilities[*]' },
    ...{
      upstream: '*',
      ours: '*',
      reason: 'the capabilities of later versions are known, as far as the definition has them',
    },
  },
  {
    ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: 'conditions.*.message', upstream: '*', ours: '*' },
    reason: 'messages are in our own words, and end with what to do next',
  },
  ...(['Available', 'Failing', 'Progressing'] as const).map(
    (type): Difference => ({
      ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: `conditions.${type}.reason`, upstream: '–' },
      ...{ ours: type === 'Available' ? 'Completed' : 'AsExpected', reason: 'a condition without a reason says half' },
    }),
  ),
  {
    ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: 'conditions.RetrievedUpdates*' },
    ...{ upstream: '*', ours: '–', reason: 'nobody looks for updates on offer' },
  },
  {
    ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: 'conditions.Rollbackable*' },
    ...{
      upstream: '–',
      ours: '*',
      reason: 'whether the release before could be gone back to, which upstream does not say',
    },
  },
  {
    ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: 'conditions.Upgradeable.reason' },
    ...{ upstream: '*', ours: 'ClusterVersionOverrides' },
    reason:
      'it is named as newer versions of upstream name it; for two minutes after its start upstream may not have seen ClusterVersion',
  },
  {
    ...{ stages: ALWAYS, subject: 'ClusterVersion version', place: 'conditions.UpgradeableClusterVersionOverrides*' },
    ...{ upstream: '–', ours: '*', reason: 'each reason has a condition of its own, also where it is the only one' },
  },
  ...['configmaps', 'leases.coordination.k8s.io'].map(
    (kind): Difference => ({
      ...{ stages: ALWAYS, subject: 'besides', place: `${kind} openshift-cluster-version/version` },
      ...{ upstream: 'written', ours: '–', reason: TWO },
    }),
  ),
  {
    ...{ stages: ALWAYS, subject: 'besides', place: 'leases.coordination.k8s.io drydock/drydock-release' },
    ...{ upstream: '–', ours: 'written', reason: TWO },
  },
  {
    ...{ stages: ALWAYS, subject: 'besides', place: 'configmaps drydock/drydock-release-*' },
    ...{
      upstream: '–',
      ours: 'written',
      reason: 'the inventory, by which what a release wrote is known later; signatures',
    },
  },
  {
    ...{ stages: ALWAYS, subject: 'besides', place: 'configmaps drydock/drydock-rollback-ledger-*' },
    ...{ upstream: '–', ours: 'written', reason: 'what the definition of ClusterVersion does not hold is kept there' },
  },
  {
    ...{
      stages: ALWAYS,
      subject: 'besides',
      place: 'events openshift-cluster-version',
      upstream: 'written',
      ours: '–',
    },
    reason: 'Events of a cluster-wide object are in the namespace default',
  },
  {
    ...{ stages: ALWAYS, subject: 'besides', place: 'events* default', upstream: '–', ours: 'written' },
    reason: 'Events of a cluster-wide object are in the namespace default',
  },
];
