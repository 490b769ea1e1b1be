import { randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { replaceFileDurable } from '@drydock/durable';
import { keysOfText, type ListedKey, type ListedTemplate, listKeys, type MarkKeys } from '@drydock/templates';
import type { Command } from 'commander';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { freeKeyName, keyText } from '../mark-key-text.ts';
import type { CommonFlags } from './flags.ts';
import { listText } from './list.ts';
import { readKeyFile, wasRevoked, withoutKey } from './mark-key.ts';
import { shell, withFlag } from './next-command.ts';
import { type ExitCode, TemplateProblem } from './problem.ts';
import { agreed } from './question.ts';
import { type Run, verb } from './run.ts';

/** Flags of a revocation. */
interface RevokeFlags extends CommonFlags {
  readonly yes?: boolean;
  readonly kubeconfig?: string;
  readonly kubeContext?: string;
  readonly markKeySecret?: string;
}

/** Adds `drydock template mark-key revoke`. */
export function addMarkKey(group: Command): void {
  const keys = group.command('mark-key').description('revoke a mark key that leaked');
  const command = keys
    .command('revoke')
    .description('revoke a mark key: its codes stop counting at once')
    .argument('<id>', 'id of the key, or the name of its entry; "doctor" prints both')
    .option('--kubeconfig <file>', 'for the key of an operator: kubeconfig of its cluster')
    .option('--kube-context <name>', 'the same, by context of the kubeconfig')
    .option('--mark-key-secret <namespace/name>', 'its Secret (default: drydock/drydock-mark-key)')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      `
In a key file (--mark-key) the key is replaced by a comment. A new key takes its place if it signed new codes.
For a Secret the command is printed that does the same: you run it, Drydock never writes that Secret.
Templates that only its codes prove become "unproven": they stay, and "adopt" brings back those that you know.`,
    );
  verb<RevokeFlags>(command, async (run) => {
    const { kubeconfig, kubeContext, markKeySecret } = run.flags;
    if ((kubeconfig ?? kubeContext ?? markKeySecret) !== undefined) return inSecret(run);
    const markKey = await run.markKey();
    if (markKey === undefined)
      throw new TemplateProblem({
        code: 'NO_MARK_KEY',
        message: 'no mark keys were named: give --mark-key FILE, or --kubeconfig FILE for the Secret of an operator',
        next: 'drydock template mark-key revoke --help',
      });
    if ('file' in markKey) return inFile(run, markKey.file);
    // The variable may hold the path of the file.
    const variable = process.env['DRYDOCK_MARK_KEY'] ?? '';
    throw new TemplateProblem({
      code: 'MARK_KEY_IN_VARIABLE',
      message: 'DRYDOCK_MARK_KEY holds the keys, and only its owner can change it: name the file that they come from',
      next: withFlag(run.again, '--mark-key', isAbsolute(variable) ? variable : 'FILE'),
    });
  });
}

async function inSecret(run: Run<RevokeFlags>): Promise<ExitCode> {
  const {
    flags,
    args: [wanted = ''],
    out,
    signal,
  } = run;
  // Loaded here: no other verb but gc asks a cluster.
  const { MARK_KEY_SECRET, markKeySecret, readMarkKeys, revokeCommand } = await import('../mark-keys.ts');
  const secret = markKeySecret(flags.markKeySecret ?? MARK_KEY_SECRET);
  const where = `Secret ${secret.namespace}/${secret.name}`;
  await using client = await connect({
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    ...(flags.kubeContext === undefined ? {} : { context: flags.kubeContext }),
  });
  const read = await readMarkKeys(client, secret, { signal });
  const key = keyNamed(read?.keys, wanted, where, 'drydock doctor');
  const next = revokeCommand(secret, read?.keys ?? keysOfText('').keys, key);
  out.event('revocation', { id: key.id, names: key.names, secret: `${secret.namespace}/${secret.name}`, next });
  out.note(
    `Nothing was changed: you own ${where}. This command revokes ${keyText(key)}${key.current ? ' and puts a new key in its place' : ''}:`,
  );
  out.data(`${next}\n`);
  out.note(
    'The operator goes by it within seconds. Then see which templates it leaves without proof:\nnext: drydock doctor',
  );
  return exitCode.done;
}

async function inFile(run: Run<RevokeFlags>, path: string): Promise<ExitCode> {
  const {
    args: [wanted = ''],
    out,
    again,
  } = run;
  const text = await readKeyFile(path);
  if (wasRevoked(text, wanted)) {
    out.note(`The key ${wanted} was revoked in ${path} before: nothing was done`);
    out.event('revoked', { id: wanted, file: path, again: true });
    return exitCode.done;
  }
  const { keys } = keysOfText(text);
  const key = keyNamed(keys, wanted, path, shell`grep -n revoked ${path}`);
  const bearers = await bearersOf(run, key);
  const left = bearers?.filter(({ proof, keyIds = [] }) => {
    return proof === 'keyed' && keyIds.every((id) => isOf(key, id) || !keys.known.has(id));
  });
  if (bearers !== undefined) out.note(bearersText(bearers.length, left?.length ?? 0, key));
  if (!(await agreed(run, `Revoke ${keyText(key)} in ${path}?`))) return exitCode.done;
  if ((await readKeyFile(path)) !== text)
    throw new TemplateProblem({
      code: 'WORLD_MOVED',
      message: `${path} was changed meanwhile, and was left as it is`,
      exit: exitCode.moved,
      next: again,
    });
  const fresh = key.current ? `${freeKeyName(keys)}:${randomBytes(32).toString('hex')}` : undefined;
  const changed = withoutKey(text, key.id, { day: new Date().toISOString().slice(0, 10), fresh });
  // It may be a link into a folder that is kept elsewhere.
  await replaceFileDurable(await realpath(path), changed);
  const [signing] = fresh === undefined ? [] : listKeys(keysOfText(changed).keys);
  out.event('revoked', {
    ...{ id: key.id, names: key.names, file: path },
    ...(signing === undefined ? {} : { replacedBy: signing.id }),
    ...(left === undefined ? {} : { unproven: left.map(({ name }) => name) }),
  });
  out.note(`Revoked ${keyText(key)} in ${path}${signing === undefined ? '' : `; ${keyText(signing)} signs new codes`}`);
  out.note('Give the file to every runner and backup that has the earlier one: there the key counts until then');
  if (left === undefined) out.note(`next: ${run.command('list', '-o', 'wide')}`);
  else sayLeft(run, left);
  return exitCode.done;
}

/** What a person does about templates that nothing proves any more. */
function sayLeft({ out, command }: Run<RevokeFlags>, left: readonly ListedTemplate[]): void {
  const [first] = left;
  if (first === undefined) return;
  out.list(
    left.map(({ name }) => name),
    () => listText(left, { wide: false, now: Date.now() }),
  );
  const these = left.length === 1 ? 'this template' : 'these templates';
  out.note(`Nothing proves ${these} any more. Adopt what you know to be right:\nnext: ${command('adopt', first.name)}`);
}

/** Templates that bear codes of a key; undefined where the vCenter could not be asked, which is no reason to let the key count on. */
async function bearersOf(run: Run<RevokeFlags>, key: ListedKey): Promise<readonly ListedTemplate[] | undefined> {
  try {
    const { store, placement, owner } = await run.open('folder');
    const templates = await store.list(placement, owner, { signal: run.signal });
    return templates.filter(({ keyIds = [] }) => keyIds.some((id) => isOf(key, id)));
  } catch (error) {
    run.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    run.out.warn(`which templates bear its codes could not be looked up: ${why}`);
    return undefined;
  }
}

function bearersText(bearers: number, alone: number, key: ListedKey): string {
  if (bearers === 0) return `No template here bears a code of ${keyText(key)}`;
  const many = bearers === 1 ? '1 template here bears a code' : `${bearers} templates here bear codes`;
  return `${many} of ${keyText(key)}; ${alone === 0 ? 'each has another proof' : `${alone} of them ${alone === 1 ? 'has' : 'have'} no other proof`}`;
}

/** Whether a code of this id is taken for one of the key. */
function isOf({ id, names }: ListedKey, code: string): boolean {
  return code === id || names.includes(code);
}

/** The key of an id, or of a name. */
function keyNamed(keys: MarkKeys | undefined, wanted: string, where: string, next: string): ListedKey {
  const listed = keys === undefined ? [] : listKeys(keys);
  const found = listed.find(({ id }) => id === wanted) ?? listed.find(({ names }) => names.includes(wanted));
  if (found !== undefined) return found;
  const there = listed.length === 0 ? 'it has no usable key' : `it has ${listed.map(keyText).join(', ')}`;
  throw new TemplateProblem({
    code: 'MARK_KEY_UNKNOWN',
    message: `there is no key ${wanted} in ${where}: ${there}`,
    next,
  });
}
