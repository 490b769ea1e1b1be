import { type MarkKeys, type OvaSource, type TemplateStore, templateStore } from '@drydock/templates';
import { connectVCenter, loginBudget, type VCenterConnection, type VimLog } from '@drydock/vsphere';
import { ledgerFile, ledgerPath } from '../ledger-file.ts';
import { loginFile } from '../login-file.ts';
import { type Holder, processHolder } from './holder.ts';
import { markKeysOf } from './mark-key.ts';
import type { Output } from './output.ts';
import { readNamedFile } from './problem.ts';
import type { Settings } from './settings.ts';
import { trustOf } from './trust.ts';

/** One vCenter for the time of one verb: at most one SOAP and one REST session, both ended by disposal, whatever happened. */
export interface TemplateSession extends AsyncDisposable {
  readonly settings: Settings;
  readonly vcenter: VCenterConnection;
  readonly store: TemplateStore;
  readonly holder: Holder;
  /** Keys by which marks are proven; none where none was given. */
  readonly keys: MarkKeys;
}

/** Opens a session; nothing is sent before the first call. */
export async function openSession(
  settings: Settings,
  {
    out,
    loginNow = false,
    ovas,
  }: {
    readonly out: Output;
    /** A person says that a password is to be shown although it was refused. */
    readonly loginNow?: boolean;
    readonly ovas?: OvaSource;
  },
): Promise<TemplateSession> {
  const keys = await markKeysOf(settings);
  const tls = await trustOf(settings.trust, settings.url);
  await using opening = new AsyncDisposableStack();
  const log: VimLog = {
    info: () => undefined,
    warn: ({ server, warning }, message) => {
      const said = typeof warning === 'string' ? `${message} ${warning}` : message;
      out.warn(typeof server === 'string' ? `${said} (${server})` : said);
    },
  };
  const notes = loginFile();
  const vcenter = opening.use(
    connectVCenter({
      url: settings.url,
      tls,
      log,
      logins: loginBudget({ notes, now: loginNow, log }),
      credentials: async () => {
        const password = await passwordOf(settings);
        const version = { origin: originOf(settings), id: await notes.version(password) };
        return { user: settings.username, password, version };
      },
    }),
  );
  const store = opening.use(
    templateStore({
      vcenters: async () => vcenter,
      cacheDir: settings.cacheDir,
      markKeys: async () => keys,
      ledger: ledgerFile(ledgerPath(settings.stateDir)),
      ...(ovas === undefined ? {} : { ovas }),
    }),
  );
  const stack = opening.move();
  return {
    settings,
    vcenter,
    store,
    holder: processHolder(),
    keys,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** For a person who wonders which password it was. */
function originOf({ password, origins }: Settings): string {
  return 'file' in password ? password.file : `the ${origins.password}`;
}

/** Read at each login, so that a rotated password is taken up. One line end at the end of the file is not part of it. */
async function passwordOf({ password }: Settings): Promise<string> {
  if ('value' in password) return password.value;
  return (await readNamedFile(password.file, 'the password file ')).replace(/\r?\n$/, '');
}
