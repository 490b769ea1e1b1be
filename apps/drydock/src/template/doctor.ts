import { importBytes, openOva } from '@drydock/templates';
import { isVimError, readOvf } from '@drydock/vsphere';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { certificateLine, readCertificate } from './certificate.ts';
import { type CheckLine, checkText } from './check-line.ts';
import {
  dryImportLine,
  type FoundPlace,
  findPlace,
  hostsLine,
  privilegeLines,
  spaceLine,
  type TrialImage,
} from './doctor-place.ts';
import { clockLine, loginLine, sessionLine, tagLine, templatesLine } from './doctor-server.ts';
import type { CommonFlags } from './flags.ts';
import { markKeyLine } from './mark-key.ts';
import { shell } from './next-command.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import type { Settings } from './settings.ts';
import { SMALL_DESCRIPTOR } from './small-descriptor.ts';
import { trustOf } from './trust.ts';

/** Adds `drydock template doctor`: everything that could stop a publication, looked at without changing anything. */
export function addDoctor(group: Command): void {
  const command = group
    .command('doctor')
    .description('check TLS, login, clock, sessions, place, privileges, space and a dry import; changes nothing')
    .argument('[ova]', 'try the import with this file');
  verb<CommonFlags>(command, async (run) => {
    const { out } = run;
    const [ova] = run.args;
    if (ova !== undefined) run.about({ source: ova });
    const settings = await run.settings();
    const image = await imageOf(ova);
    const lines: CheckLine[] = [];
    const say: Say = (...found) => {
      for (const line of found) out.event('check', line);
      lines.push(...found);
    };
    say(settingsLine(settings));
    const tls = await tlsLine(run, settings);
    say(tls);
    if (tls.state === 'FAIL')
      say({ name: 'login', state: 'skip', detail: 'nothing is sent before the server is reached and trusted' });
    else await throughLogin(run, settings, image, say);
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

type Say = (...lines: readonly CheckLine[]) => void;

async function throughLogin(run: Run<CommonFlags>, settings: Settings, image: TrialImage, say: Say): Promise<void> {
  const session = await run.session();
  const login = await loginLine(session.vcenter, settings, run.signal);
  if (login.state === 'ok') {
    say(login);
    await beyondLogin(run, session, image, say);
    return;
  }
  const next = run.command('doctor', '--username', 'USER', '--password-file', 'FILE');
  say({ ...login, next }, { name: 'place', state: 'skip', detail: 'everything else needs a login' });
}

async function beyondLogin(
  run: Run<CommonFlags>,
  session: TemplateSession,
  image: TrialImage,
  say: Say,
): Promise<void> {
  const { signal } = run;
  const { vcenter, settings, keys } = session;
  say(markKeyLine(settings, keys));
  say(await guarded('clock', () => clockLine(vcenter, signal)));
  say(await guarded('sessions', () => sessionLine(vcenter, signal)));
  let place: FoundPlace = { lines: [], items: {} };
  const found = await guardedLines('inventory', async () => {
    place = await findPlace(vcenter, settings, await vcenter.places({ signal }), { again: run.again, signal });
    return place.lines;
  });
  say(...found);
  const tagged = settings.tag !== undefined;
  say(...(await guardedLines('privileges', () => privilegeLines(vcenter, place, tagged, signal))));
  say(await guarded('hosts', () => hostsLine(vcenter, place, signal)));
  say(await guarded('space', () => spaceLine(vcenter, place, image, run.command('gc', '--dry-run'), signal)));
  if (settings.tag !== undefined) {
    const { tag } = settings;
    say(await guarded('tag', () => tagLine(vcenter, tag, signal)));
  }
  say(await guarded('dry import', () => dryImportLine(vcenter, place, image, signal)));
  const folder = place.items.folder?.path;
  if (folder !== undefined) {
    say(
      await guarded('templates', async () =>
        templatesLine(await session.store.list(await run.place(session, 'folder'), settings.owner, { signal }), folder),
      ),
    );
  }
}

/** A check that cannot be made is a finding, not the end of the others. */
async function guardedLines(name: string, check: () => Promise<readonly CheckLine[]>): Promise<readonly CheckLine[]> {
  try {
    return await check();
  } catch (error) {
    if (isVimError(error, 'VIM_ABORTED')) throw error;
    return [{ name, state: 'FAIL', detail: error instanceof Error ? error.message : String(error) }];
  }
}

/** See {@link guardedLines}. */
async function guarded(name: string, check: () => Promise<CheckLine>): Promise<CheckLine> {
  const [line] = await guardedLines(name, async () => [await check()]);
  return line ?? { name, state: 'skip', detail: '' };
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
