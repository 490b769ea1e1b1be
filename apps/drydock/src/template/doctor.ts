import { importBytes, openOva } from '@drydock/templates';
import { isVimError, readOvf } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { ledgerFile, ledgerPath } from '../ledger-file.ts';
import { codeLines } from '../mark-key-text.ts';
import { certificateLine, readCertificate } from './certificate.ts';
import { type CheckLine, checkText } from './check-line.ts';
import {
  dryImportLine,
  type FoundPlace,
  findPlace,
  hostsLine,
  privilegeLines,
  SMALL_DESCRIPTOR,
  spaceLine,
  type TrialImage,
} from './doctor-place.ts';
import { clockLine, ledgerEntryLines, loginLine, sessionLine, tagLine, templateLines } from './doctor-server.ts';
import type { CommonFlags } from './flags.ts';
import { markKeyLine } from './mark-key.ts';
import { shell } from './next-command.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import type { Settings } from './settings.ts';
import { trustOf } from './trust.ts';

/** Adds `drydock template doctor`: everything that could stop a publication, looked at without changing anything. */
export function addDoctor(group: Command): void {
  const command = group
    .command('doctor')
    .description('check TLS, login, clock, sessions, place, privileges, space and a dry import; changes nothing')
    .argument('[ova]', 'try the import with this file');
  verb<CommonFlags>(command, async (run) => {
    const { out } = run;
    const lines: CheckLine[] = [];
    for await (const line of findings(run)) {
      out.event('check', line);
      lines.push(line);
    }
    const failed = lines.filter(({ state }) => state === 'FAIL').length;
    out.event('diagnosis', { ok: failed === 0, failed });
    out.data(checkText(lines));
    out.note(
      failed === 0
        ? 'Nothing stands in the way of a publication'
        : `${failed} ${failed === 1 ? 'check' : 'checks'} failed`,
    );
    return failed === 0 ? exitCode.done : exitCode.blocked;
  });
}

/** One after the other, as they are made. */
async function* findings(run: Run<CommonFlags>): AsyncGenerator<CheckLine> {
  const [ova] = run.args;
  if (ova !== undefined) run.about({ source: ova });
  const settings = await run.settings();
  const image = await imageOf(ova);
  yield settingsLine(settings);
  const tls = await tlsLine(run, settings);
  yield tls;
  if (tls.state === 'FAIL') {
    yield { name: 'login', state: 'skip', detail: 'nothing is sent before the server is reached and trusted' };
    return;
  }
  const session = await run.session();
  const login = await loginLine(session.vcenter, settings, run.signal);
  if (login.state === 'FAIL') {
    yield { ...login, next: run.command('doctor', '--username', 'USER', '--password-file', 'FILE') };
    yield { name: 'place', state: 'skip', detail: 'everything else needs a login' };
    return;
  }
  yield* [login, markKeyLine(settings, session.keys)];
  for (const [name, check] of checksOf(run, session, image)) yield* await guarded(name, check);
}

/** Who signs codes again, and when. */
const SIGNER = 'the next `drydock template gc` signs them again';

type Check = () => Promise<CheckLine | readonly CheckLine[]>;

/** Made one after the other: what `inventory` finds, those behind it look at. */
function checksOf(
  run: Run<CommonFlags>,
  session: TemplateSession,
  image: TrialImage,
): readonly (readonly [name: string, check: Check])[] {
  const { signal } = run;
  const { vcenter, settings, keys, store } = session;
  const { tag, owner } = settings;
  const ledger = ledgerPath(settings.stateDir);
  let place: FoundPlace = { lines: [], items: {} };
  return [
    ['clock', () => clockLine(vcenter, signal)],
    ['sessions', () => sessionLine(vcenter, signal)],
    [
      'inventory',
      async () => {
        place = await findPlace(vcenter, settings, await vcenter.places({ signal }), { again: run.again, signal });
        return place.lines;
      },
    ],
    ['privileges', () => privilegeLines(vcenter, place, tag !== undefined, signal)],
    ['hosts', () => hostsLine(vcenter, place, signal)],
    ['space', () => spaceLine(vcenter, place, image, run.command('gc', '--dry-run'), signal)],
    ['tag', async () => (tag === undefined ? [] : tagLine(vcenter, tag, signal))],
    ['dry import', () => dryImportLine(vcenter, place, image, signal)],
    ['ownership ledger', () => ledgerEntryLines(ledgerFile(ledger), ledger, shell`grep -n vm. ${ledger}`)],
    [
      'templates',
      async () => {
        const folder = place.items.folder?.path;
        if (folder === undefined) return [];
        const templates = await store.list(await run.place(session, 'folder'), owner, { signal });
        const adopt = (name: string): string => run.command('adopt', name);
        return [...templateLines(templates, folder, { adopt }), ...codeLines(templates, keys, SIGNER)];
      },
    ],
  ];
}

/** A check that cannot be made is a finding, not the end of the others. */
async function guarded(name: string, check: Check): Promise<readonly CheckLine[]> {
  try {
    return [await check()].flat();
  } catch (error) {
    if (isVimError(error, 'VIM_ABORTED')) throw error;
    return [{ name, state: 'FAIL', detail: error instanceof Error ? error.message : String(error) }];
  }
}

function settingsLine({ url, username, origins, owner }: Settings): CheckLine {
  const from = (origin: string): string => (origin === 'default' ? '' : ` (${origin})`);
  return {
    name: 'settings',
    state: 'ok',
    detail: `${url}${from(origins.url)} as ${username}${from(origins.username)}, owner ${owner}`,
  };
}

async function tlsLine(run: Run<CommonFlags>, settings: Settings): Promise<CheckLine> {
  const url = new URL(settings.url);
  const trust = await trustOf(settings.trust, settings.url);
  try {
    const seen = await readCertificate(url, trust.ca, run.signal);
    return certificateLine(seen, trust, {
      command: run.command('doctor').replace(/ --thumbprint \S+/, ''),
      now: Date.now(),
    });
  } catch (error) {
    run.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    const detail = `${url.host} cannot be reached (${why})`;
    return { name: 'tls', state: 'FAIL', detail, next: shell`curl -kSs ${`${settings.url}/vimServiceVersions.xml`}` };
  }
}

async function imageOf(path: string | undefined): Promise<TrialImage> {
  if (path === undefined) return { descriptor: SMALL_DESCRIPTOR };
  await using ova = await openOva(path);
  const bytes = importBytes(readOvf(ova.descriptor), 'thin', (href) => ova.source(href)?.size ?? 0);
  return { descriptor: ova.descriptor, bytes };
}
