import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { generator, seeds, withSeed } from '@drydock/model';
import type { VmView } from '@drydock/sandbox';
import { OWNERSHIP } from '@drydock/templates';
import { expectExit, folder, startTemplateCli, type TemplateCli } from './support/template-cli.ts';
import { forge } from './support/template-forger.ts';

let cli: TemplateCli;
before(async () => {
  cli = await startTemplateCli();
});
after(() => cli?.[Symbol.asyncDispose]());

/** What must come of the commands in one setting of key × ledger. */
interface Setting {
  readonly title: string;
  readonly keyed: boolean;
  /** The ledger of this user; without it each command is on another machine. */
  readonly ledger: boolean;
  readonly adopted: 0;
  readonly notOwnedDestroyed: 0;
  readonly ownedLost: 0;
  /** `gc` removes what nothing uses. */
  readonly collects: boolean;
}

const NONE = { adopted: 0, notOwnedDestroyed: 0, ownedLost: 0 } as const;
const SETTINGS: readonly Setting[] = [
  { title: 'a key and a ledger', keyed: true, ledger: true, ...NONE, collects: true },
  { title: 'a key, no ledger', keyed: true, ledger: false, ...NONE, collects: false },
  { title: 'a ledger, no key', keyed: false, ledger: true, ...NONE, collects: false },
  { title: 'neither', keyed: false, ledger: false, ...NONE, collects: false },
];

/** Five commands, and a neighbour between them who has read everything. */
async function play(setting: Setting, seed: number): Promise<Pick<Setting, keyof typeof NONE | 'collects'>> {
  const { switchboard } = cli;
  const next = generator(seed);
  const base = `replay-${SETTINGS.indexOf(setting)}-${seed}`;
  const stable = `${base}-stable`;
  const home = await mkdtemp(join(cli.files, 'state-'));
  const tried = async (...args: readonly string[]) => {
    const state = setting.ledger ? home : await mkdtemp(join(cli.files, 'state-'));
    const env = { XDG_STATE_HOME: state, ...(setting.keyed ? {} : { DRYDOCK_MARK_KEY: '' }) };
    return cli.run([...args, '--owner', base], env);
  };
  const run = async (...args: readonly string[]) => expectExit(await tried(...args), 0);
  /** What is theirs, and how it must look for ever. */
  const theirs = new Map<string, string>();
  const keep = async (moref: string): Promise<string> => {
    theirs.set(moref, JSON.stringify(await at(moref)));
    return moref;
  };
  const at = async (moref: string): Promise<VmView | undefined> =>
    (await switchboard.vms({ folder })).find((vm) => vm.moref === moref);
  const codeOf = ({ extraConfig, customValues }: VmView): string | undefined =>
    /"code":"([^"]+)"/.exec((next() < 0.5 ? extraConfig['drydock.birth'] : customValues[OWNERSHIP]) ?? '')?.[1];

  const [first, second] = await Promise.all([
    cli.ova(`9.6.${2 * seed}`, { seed: 2 * seed }),
    cli.ova(`9.6.${2 * seed + 1}`, { seed: 2 * seed + 1 }),
  ]);
  const one = await cli.vm((await run('publish', first, '--name', base)).stdout.trim());
  // A copy beside it, of which the next two commands must think nothing.
  const forged = { template: true, name: `copy-of-${one.name}`, record: { code: codeOf(one) } };
  await keep(await forge(cli, { ...one, instanceUuid: randomUUID() }, forged));
  await run('publish', second, '--name', stable, '--swap');
  const swapped = await cli.vm(stable);
  await switchboard.setCustomValue(swapped.moref, OWNERSHIP, one.customValues[OWNERSHIP] ?? '');

  await run('gc', '--grace', '0', '--keep', '0', '--yes');
  const collects = (await at(one.moref)) === undefined;
  // A person removes what no command may.
  if (!collects) await switchboard.destroyVm(one.moref);
  const record = next() < 0.5 ? {} : { record: { code: codeOf(one) } };
  const replayed = await keep(await forge(cli, one, { template: true, ...record }));

  await switchboard.resetUploads();
  const again = await cli.vm((await run('publish', first, '--name', base)).stdout.trim());
  // With a key it is an error; without one nothing is ever proven, and this is said.
  const verified = expectExit(await tried('verify', `${folder}/${one.name}`), setting.keyed ? 3 : 0);
  const vouched = !(setting.keyed ? /its mark does not count:/ : /, not proven:/).test(verified.stdout);
  const adopted = [theirs.has(again.moref), vouched, (await switchboard.uploads()).count === 0];
  const changed = await Promise.all([...theirs].map(async ([moref, was]) => JSON.stringify(await at(moref)) !== was));
  const lost = [(await at(swapped.moref))?.name !== stable, !(await at(again.moref))?.isTemplate];
  assert.ok(theirs.has(replayed) && again.moref !== replayed);
  const many = (found: readonly boolean[]) => found.filter(Boolean).length as 0;
  return { adopted: many(adopted), notOwnedDestroyed: many(changed), ownedLost: many(lost), collects };
}

for (const setting of SETTINGS)
  test(`KEEP-10 real commands beside a neighbour who replays a collected template, ${setting.title}: 0 adopted, 0 that are not owned destroyed, 0 owned lost`, async () => {
    const { adopted, notOwnedDestroyed, ownedLost, collects } = setting;
    for (const seed of seeds(1, 250, 'rounds of five commands'))
      await withSeed(seed, import.meta.filename, async () =>
        assert.deepEqual(await play(setting, seed), { adopted, notOwnedDestroyed, ownedLost, collects }),
      );
  });
