import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectSwitchboard, type Switchboard, startSandbox, type VmView } from '@drydock/sandbox';
import { type TestOvaSpec, writeTestOva } from '@drydock/templates/testing';
import { unescapeName } from '@drydock/vsphere';

/** What a run of the command left. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** `-o json`: the events, in order. */
  readonly events: readonly Readonly<Record<string, unknown>>[];
}

/** A run that has not ended yet. */
export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<Ran>;
}

/** Environment variables to add; '' removes one. */
export type Environment = Readonly<Record<string, string>>;

/** The real command against the real simulator, with govc's variables set. */
export interface TemplateCli extends AsyncDisposable {
  readonly switchboard: Switchboard;
  readonly env: Environment;
  /** Folder for files. */
  readonly files: string;
  /** Secrets that no output may contain. */
  readonly secrets: readonly string[];
  /** `drydock template …`; afterwards no session may be left and no secret may have been said. */
  run(args: readonly string[], env?: Environment): Promise<Ran>;
  start(args: readonly string[], env?: Environment): Running;
  ova(name: string, spec?: Partial<TestOvaSpec>): Promise<string>;
  /** Names of the machines and templates in the folder. */
  names(): Promise<readonly string[]>;
  vm(name: string): Promise<VmView>;
}

/** Inventory path of the folder that the runs use. */
export const folder = '/DC0/vm/templates';

const binary = join(import.meta.dirname, '../../../apps/drydock/bin/drydock.js');

/** Starts the simulator; the place is complete, so that most runs need no flags. */
export async function startTemplateCli(): Promise<TemplateCli> {
  await using starting = new AsyncDisposableStack();
  const sandbox = starting.use(await startSandbox({ vcenter: true, kubernetes: false }));
  const files = await mkdtemp(join(tmpdir(), 'drydock-template-cli-'));
  starting.defer(() => rm(files, { recursive: true, force: true }));
  const { url, user, password, ca, switchboard: control } = sandbox.vcenter;
  const switchboard = connectSwitchboard(control);
  await switchboard.createFolder(folder);
  await switchboard.createTag({ category: 'images', name: 'golden' });
  const env: Environment = {
    GOVC_URL: url,
    GOVC_USERNAME: user,
    GOVC_PASSWORD: password,
    GOVC_TLS_CA_CERTS: ca,
    GOVC_FOLDER: folder,
    DRYDOCK_MARK_KEY: `k1:${'0123456789abcdef'.repeat(4)}`,
    GOVC_CLUSTER: 'DC0_C0',
    GOVC_NETWORK: 'VM Network',
    HOME: files,
    XDG_CONFIG_HOME: join(files, 'config'),
    XDG_STATE_HOME: join(files, 'state'),
    // Type stripping is most of a short run.
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(files, 'compile-cache'),
    NO_COLOR: '1',
  };
  const secrets = [password, 'hunter2'];

  const start: TemplateCli['start'] = (args, extra = {}) => {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOVC_'));
    const all = Object.entries({ ...Object.fromEntries(inherited), ...env, ...extra });
    const process_ = spawn(process.execPath, [binary, 'template', ...args], {
      env: Object.fromEntries(all.filter(([, value]) => value !== '')),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    process_.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    process_.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const ended = new Promise<Ran>((resolve, reject) => {
      process_.once('error', reject);
      process_.once('close', (code) => {
        const lines = stdout.split('\n').filter((line) => line.startsWith('{"at"'));
        resolve({ code, stdout, stderr, events: lines.map((line) => JSON.parse(line) as Ran['events'][number]) });
      });
    });
    return { process: process_, ended };
  };

  const resources = starting.move();
  return {
    switchboard,
    env,
    files,
    secrets,
    start,
    run: async (args, extra) => {
      const { logins } = await switchboard.sessions();
      const ran = await start(args, extra).ended;
      assert.ok((await switchboard.sessions()).logins - logins <= 2, `more than two sessions for ${args.join(' ')}`);
      await assertClean(switchboard, ran, secrets, args);
      return ran;
    },
    ova: async (name, spec = {}) => {
      const path = join(files, `${name}.ova`);
      await writeTestOva(path, { version: name, diskBytes: 2 ** 20, ...spec });
      return path;
    },
    names: async () => (await machines(switchboard)).map(({ name }) => name).toSorted(),
    vm: async (name) =>
      (await machines(switchboard)).find((vm) => vm.name === name) ?? assert.fail(`there is no ${name} in ${folder}`),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** No session is left, and no secret was said. */
export async function assertClean(
  switchboard: Switchboard,
  ran: Ran,
  secrets: readonly string[],
  args: readonly string[],
): Promise<void> {
  const { sessions } = await switchboard.sessions();
  assert.deepEqual(sessions, [], `sessions are left after ${args.join(' ')}`);
  for (const secret of secrets)
    assert.ok(!`${ran.stdout}${ran.stderr}`.includes(secret), `a secret was said by ${args.join(' ')}`);
}

async function machines(switchboard: Switchboard): Promise<readonly VmView[]> {
  const all = await switchboard.vms();
  // Names are stored escaped, as vCenter does.
  return all.filter((vm) => vm.folder === folder).map((vm) => ({ ...vm, name: unescapeName(vm.name) }));
}

/** Fails with all that was said unless the run ended as wanted. */
export function expectExit(ran: Ran, code: number): Ran {
  assert.equal(
    ran.code,
    code,
    `exit code ${ran.code} instead of ${code}\n--- stdout\n${ran.stdout}--- stderr\n${ran.stderr}`,
  );
  return ran;
}

/** The command that a failure ends with; asserts that there is one. */
export function nextCommand(ran: Ran): string {
  const [, next] = /\nnext: (.+)\n$/.exec(`\n${ran.stderr}`) ?? [];
  return next ?? assert.fail(`no command to run next in:\n${ran.stderr}`);
}
