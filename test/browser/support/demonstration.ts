import type { Event } from '@drydock/api';
import type { PageWorld } from '@drydock/page';
import { currentSet, NOW, RELEASES, type SyntheticSet, syntheticWorld } from './synthetic-world.ts';

const [north, south] = ['vcenter-north.harbour.example', 'vcenter-south.harbour.example'];

/** A world in which everything is that the page can show. */
export function demonstration(): PageWorld {
  const ago = (minutes: number): string => `${new Date(NOW.getTime() - minutes * 60_000).toISOString().slice(0, 19)}Z`;
  const uploading: SyntheticSet = {
    ...currentSet('worker-b', north, 'fd-north-2'),
    ...{ phase: 'Uploading', current: RELEASES.old, since: ago(2), progress: '41% 96MiB/s 13s' },
    progressDetail: { bytes: 9e8, total: 2.2e9, rate: 1e8, etaSeconds: 13 },
    message: `the image of ${RELEASES.wanted} is uploaded to ${north}`,
  };
  const failed: SyntheticSet = {
    ...currentSet('worker-c', south, 'fd-south-1'),
    ...{
      phase: 'Blocked',
      current: RELEASES.old,
      since: ago(5),
      reason: 'CanaryFailed',
      progress: 'blocked: CanaryFailed',
    },
    message: 'machine canary-worker-c-x7k2p was made from it and did not become a node within 20 minutes',
    nextStep: 'drydock explain worker-c',
  };
  const pinned: SyntheticSet = {
    ...currentSet('infra', south, 'fd-south-2'),
    ...{ current: RELEASES.old, target: RELEASES.old, progress: 'pinned by alice until 2027-01-01T00:00:00Z' },
    pin: { release: RELEASES.old, by: 'alice', since: ago(9000), until: '2027-01-01T00:00:00Z' },
  };
  const sets = [currentSet('worker-a', north, 'fd-north-1'), uploading, failed, pinned];
  const event = (minutes: number, reason: string, note: string, type = 'Normal'): Event => ({
    metadata: { name: `e${minutes}`, namespace: 'machines' },
    ...{ eventTime: ago(minutes), reportingController: 'drydock.dev/boot-images', reason, note, type },
    regarding: { kind: 'BootImage', name: 'ms-worker-c' },
  });
  return syntheticWorld(sets, {
    events: [
      event(5, 'CanaryFailed', 'machine canary-worker-c-x7k2p did not become a node', 'Warning'),
      event(26, 'Imported', `harbour-rhcos-fd-south-1-${RELEASES.wanted}-507eb234 is complete and verified`),
      event(28, 'UploadStarted', `2.1 GiB to ${south}`),
    ],
    releases: [
      {
        ...{ name: 'ClusterVersion version', version: '4.21.0', waiting: [] },
        conditions: [
          { type: 'Failing', status: 'False' },
          { type: 'Progressing', status: 'False' },
          { type: 'Upgradeable', status: 'True' },
          {
            ...{ type: 'Rollbackable', status: 'False', reason: 'StoredObjects' },
            message: '3 objects would be refused by the definitions of 4.20.3',
          },
        ],
        history: [
          { version: '4.21.0', state: 'Completed', startedTime: ago(9000), completionTime: ago(8950) },
          { version: '4.20.3', state: 'Completed', startedTime: ago(90_000), completionTime: ago(89_950) },
        ],
      },
    ],
    notes: [
      {
        text: `ClusterOperator machine-config (machine-config-operator) holds minor upgrades up since ${ago(180)}: boot images are too old`,
        nextStep: 'drydock status -o wide, for the sets whose images are too old or fail',
      },
      {
        text: `The status of bootimages.drydock.dev machines/ms-infra is not written since ${ago(4)}: the API server is busy`,
        nextStep: 'it is tried again; if it lasts, see why the API server is busy',
      },
    ],
  });
}
