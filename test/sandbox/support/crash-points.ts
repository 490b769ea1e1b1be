import type { Secret } from '@drydock/api';
import type { Call } from '@drydock/sandbox';
import type { ApiWrite } from './api-gate.ts';
import type { CrashPoint } from './crash-rig.ts';

const attach = 'POST /rest/com/vmware/cis/tagging/tag-association/id:*?~action=attach';

/** The changes that a publication makes in vCenter, in their order. */
export const vcenterPoints: readonly CrashPoint[] = [
  { what: 'ImportVApp', vcenter: 'ImportVApp' },
  { what: 'upload', vcenter: 'upload' },
  { what: 'HttpNfcLeaseComplete', vcenter: 'HttpNfcLeaseComplete' },
  { what: 'SetField', vcenter: 'SetField' },
  { what: 'ReconfigVM_Task', vcenter: 'ReconfigVM_Task' },
  { what: 'MarkAsTemplate', vcenter: 'MarkAsTemplate' },
  { what: attach, vcenter: attach },
];

/** The change that only a recovery makes. */
export const destroyPoint: CrashPoint = { what: 'Destroy_Task', vcenter: 'Destroy_Task' };

/** In the middle of the one disk. */
export const midUploadPoint: CrashPoint = {
  what: 'the middle of the upload',
  vcenter: 'upload',
  rule: { afterBytes: 300_000 },
};

const writeNames = [
  'conditions: Progressing True',
  'Event Planned',
  'BootImage Downloading',
  'BootImage Uploading',
  'Event DownloadVerified',
  'Event UploadStarted',
  'ledger importing',
  'ledger imported',
  'ledger marking',
  'ledger template',
  'Event Imported',
  'BootImage Switching',
  'old stub',
  'user data',
  'old stub immutable',
  'machine set',
  'Event Switched',
  'Event Retained',
  'BootImage Current',
  'conditions: Progressing False',
  'verdict',
];

/** The writes to the API server that a publication makes, in their order. */
export const apiPoints: readonly CrashPoint[] = writeNames.map((what) => ({
  what,
  api: (write: ApiWrite) => writeName(write) === what,
}));

/** The write that only the first publication for a set makes. */
export const firstPoint: CrashPoint = {
  what: 'the birth of the BootImage',
  api: (write) => writeName(write) === 'POST bootimages',
};

/** What a write is about; undefined for the heartbeat of the Lease, and for progress that only a slow machine reports: neither is part of each publication. */
export function writeName({ verb, resource, body }: ApiWrite): string | undefined {
  switch (resource) {
    case 'leases':
      return undefined;
    case 'secrets': {
      const { metadata, immutable } = JSON.parse(body) as Secret;
      if (!metadata.name.endsWith('-ignition-2')) return 'user data';
      return immutable === true ? 'old stub immutable' : 'old stub';
    }
    case 'machinesets':
      return 'machine set';
    case 'events':
      return `Event ${(JSON.parse(body) as { readonly reason: string }).reason}`;
    case 'configmaps':
      return `ledger ${stageIn(body)}`;
    case 'clusteroperators/status':
      return 'verdict';
    case 'bootimages/status': {
      const { phase } = (JSON.parse(body) as { readonly status: { readonly phase: string } }).status;
      return phase === 'Publishing' ? undefined : `BootImage ${phase}`;
    }
    case 'machineconfigurations/status': {
      const { status } = JSON.parse(body) as { readonly status: Conditions };
      const progressing = status.conditions?.find(({ type }) => type === 'BootImageUpdateProgressing');
      return `conditions: Progressing ${progressing?.status}`;
    }
    default:
      return `${verb} ${resource}`;
  }
}

/** The earliest stage of a template in a ConfigMap of the ownership ledger. */
function stageIn(body: string): string {
  const { data = {} } = JSON.parse(body) as { readonly data?: Readonly<Record<string, string>> };
  const texts = Object.values(data);
  const stages = ['importing', 'imported', 'marking'] as const;
  return stages.find((stage) => texts.some((text) => text.includes(`"stage":"${stage}"`))) ?? 'template';
}

interface Conditions {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** Calls that change nothing that outlives their session. */
const reads = [
  /^GET /,
  /^(POST|DELETE) \/(rest\/com\/vmware\/cis|api)\/session/,
  /action=(get|list-attached-tags|list-tags-for-category)$/,
  /^(Retrieve|ContinueRetrieve|CancelRetrieve|Find|CurrentTime|CreateImportSpec|Log(in|out)$)/,
  /^(CreatePropertyCollector|DestroyPropertyCollector|CreateFilter|DestroyPropertyFilter|(Cancel)?WaitForUpdates)/,
  /^HttpNfcLease(GetManifest|Progress)$/,
];

/** The calls of a log that change something, each once, in the order in which they came first. */
export function changesOf(calls: readonly Call[]): readonly string[] {
  return [...new Set(calls.map(({ method }) => method).filter((method) => !reads.some((read) => read.test(method))))];
}
