import { credentialsKey } from '@drydock/boot-images';
import type { Placement, ReadKeys, TemplateStore } from '@drydock/templates';
import { isVimError, type VCenter } from '@drydock/vsphere';
import { LOGIN_NOW } from '../login-notes.ts';
import {
  dryImportLine,
  type FoundPlace,
  findPlace,
  hostsLine,
  privilegeLines,
  SMALL_DESCRIPTOR,
  spaceLine,
} from '../template/doctor-place.ts';
import { clockLine, sessionLine, tagLine, templateLines } from '../template/doctor-server.ts';
import { shell } from '../template/next-command.ts';
import { type Finding, type Line, lookedAt } from './finding.ts';
import { libraryLines } from './libraries.ts';
import { operatorCodeLines } from './mark-key.ts';

/** What is looked at on one vCenter. */
export interface VCenterSubject {
  readonly server: string;
  /** A session with the credentials of the cluster; rejects where there are none. */
  readonly connect: () => Promise<VCenter>;
  readonly store: Pick<TemplateStore, 'list'>;
  /** Where its templates are. */
  readonly placements: readonly Placement[];
  /** Tag of everything of the cluster. */
  readonly tag: string | undefined;
  /** Owner in the marks of its templates. */
  readonly owner: string;
  /** Keys of their marks, as far as they could be read. */
  readonly markKeys: ReadKeys | undefined;
  /** Which object of the cluster refers to a template of this name. */
  readonly usedBy: (name: string) => string | undefined;
  /** Items of content libraries that policies name, and whose. */
  readonly libraryItems: ReadonlyMap<string, string>;
}

const WHERE =
  'correct failureDomains of infrastructure/cluster, or the workspace in the providerSpec of the machine set';
/** The trial import has no disks. */
const IMAGE = { descriptor: SMALL_DESCRIPTOR };

/** Login, clock, sessions and tag of one vCenter, then each place in it. Creates nothing there. */
export async function vcenterFindings(subject: VCenterSubject, signal: AbortSignal): Promise<readonly Finding[]> {
  const { server, tag, libraryItems } = subject;
  const area = `vcenter ${server}`;
  const look = (name: string, work: () => Promise<Line | readonly Line[]>): Promise<readonly Finding[]> =>
    lookedAt(area, name, signal, work);
  let vcenter: VCenter;
  try {
    vcenter = await subject.connect();
    const { fullName } = await vcenter.about({ signal });
    await vcenter.currentTime({ signal });
    const { namespace, name } = credentialsKey;
    const detail = `${fullName} takes the password in Secret ${namespace}/${name}`;
    const findings: Finding[] = [{ area, name: 'login', state: 'ok', detail }];
    findings.push(...(await look('clock', () => clockLine(vcenter, signal))));
    findings.push(...(await look('sessions', () => sessionLine(vcenter, signal))));
    if (tag !== undefined) findings.push(...(await look('tag', () => tagLine(vcenter, tag, signal))));
    const [first] = subject.placements;
    // Without machine sets there nobody wants an image there.
    if (first !== undefined)
      findings.push(
        ...(await look('content libraries', () => libraryLines(vcenter, libraryItems, first.folder, signal))),
      );
    for (const placement of subject.placements)
      findings.push(...(await placeFindings(vcenter, placement, subject, signal)));
    return findings;
  } catch (error) {
    signal.throwIfAborted();
    const detail = error instanceof Error ? error.message : String(error);
    return [{ area, name: 'login', state: 'FAIL', detail, ...nextOf(error, server) }];
  }
}

/** What helps against it; nothing where the sentence itself says so. */
function nextOf(error: unknown, server: string): { readonly next?: string } {
  if (!isVimError(error)) return {};
  switch (error.code) {
    case 'VIM_LOGIN_WITHHELD':
      return { next: LOGIN_NOW };
    case 'VIM_LOGIN_REFUSED': {
      const { namespace, name } = credentialsKey;
      const keys = ['username', 'password'].map((part) => `"${server}.${part}":"…"`).join(',');
      return { next: shell`kubectl -n ${namespace} patch secret ${name} -p ${`{"stringData":{${keys}}}`}` };
    }
    case 'VIM_TLS_UNTRUSTED':
      return { next: 'drydock doctor --vcenter-ca FILE, as the operator has it' };
    case 'VIM_UNREACHABLE':
    case 'VIM_TIMEOUT':
      return {
        next: shell`drydock doctor --vcenter-url ${`${server}=https://ADDRESS/sdk`}, where the operator has that`,
      };
    default:
      return {};
  }
}

async function placeFindings(
  vcenter: VCenter,
  placement: Placement,
  { server, store, owner, tag, markKeys, usedBy }: VCenterSubject,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { datacenter, folder, computeCluster, resourcePool, datastore, networks, failureDomain } = placement;
  const area = `place ${failureDomain} on ${server}`;
  const [network] = networks;
  const settings = {
    ...{ datacenter, folder, datastore, cluster: computeCluster },
    ...(resourcePool === '' ? {} : { resourcePool }),
    ...(network === undefined ? {} : { network }),
  };
  const findings: Finding[] = [];
  const look = async (name: string, work: () => Promise<Line | readonly Line[]>): Promise<void> => {
    findings.push(...(await lookedAt(area, name, signal, work)));
  };
  let place: FoundPlace = { lines: [], items: {} };
  await look('place', async () => {
    place = await findPlace(vcenter, settings, await vcenter.places({ signal }), { again: '', signal });
    const missing = place.lines.filter(({ state }) => state !== 'ok');
    if (missing.length > 0) return missing.map((line) => ({ ...line, next: WHERE }));
    return { name: 'place', state: 'ok', detail: `${folder}, and all else that it names, is there` };
  });
  await look('privileges', () => privilegeLines(vcenter, place, tag !== undefined, signal));
  await look('hosts', () => hostsLine(vcenter, place, signal));
  await look('space', () => spaceLine(vcenter, place, IMAGE, `govc datastore.info ${datastore}`, signal));
  await look('dry import', () => dryImportLine(vcenter, place, IMAGE, signal));
  await look('templates', async () => {
    const templates = await store.list(placement, owner, { signal });
    const adopt = (name: string): string =>
      shell`drydock template adopt ${name} --folder ${folder} --owner ${owner} --mark-key FILE`;
    return [...templateLines(templates, folder, { adopt, usedBy }), ...operatorCodeLines(templates, markKeys)];
  });
  return findings;
}
