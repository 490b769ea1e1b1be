import type { BootImage } from '@drydock/api';
import type { Switchboard } from '@drydock/sandbox';
import { table } from '../table.ts';
import { machineSets, publishRelease, templatesOf } from './cluster.ts';
import { showProgress } from './progress.ts';
import { releases, type Stage } from './stage.ts';

/** A release comes, its image is imported and published; then once more with a crash half-way. */
export async function bootImagesChapter(stage: Stage): Promise<void> {
  const { client, options, signal, switchboard, tell } = stage;
  const show = (done: (images: readonly BootImage[]) => boolean): Promise<readonly BootImage[]> =>
    showProgress(client, done, { tell, deadline: 120_000, signal, alive: () => stage.operator?.alive() });
  const [first, second] = [stage.image('first'), stage.image('second')];
  await using _throttle = await switchboard.rule({
    on: 'upload',
    do: 'throttle',
    bytesPerSecond: options.rate * 2 ** 20,
  });

  tell.chapter('BOOT IMAGES: one template of the release in each failure domain, whatever happens on the way');
  const before = await templatesOf(client);
  await stage.operate();
  tell.step('"drydock operator" runs; everything is current');
  await show(settled(releases.old.release));

  tell.step(`Release ${first.version} brings image ${first.release}`);
  await publishRelease(client, first);
  await show(settled(first.release));
  await report(stage, before);
  await expectTemplates(switchboard, first.release);

  tell.step(
    `Release ${second.version} brings image ${second.release}; the operator is killed with SIGKILL in the middle of the upload`,
  );
  const beforeCrash = await templatesOf(client);
  await switchboard.clearRules();
  await using hold = await switchboard.rule({ on: 'upload', do: 'hold', afterBytes: options.size * 2 ** 19, times: 1 });
  await publishRelease(client, second);
  await hold.held(1, { signal, timeoutMs: 60_000 });
  tell.say(`the upload is held half-way; SIGKILL to process ${stage.operator?.pid}`);
  await stage.operator?.crash();
  await hold.release();
  tell.say('a new operator starts, waits for the lease of the dead one to expire, and finds what was left');
  await stage.operate();
  await show(settled(second.release));
  await report(stage, beforeCrash);
  await expectTemplates(switchboard, second.release);
  tell.plain(
    'One template of the new release in each failure domain, none lost: the old ones stay until nothing needs them.',
  );
}

/** Every set that Drydock may touch is at the release, the owned one is skipped. */
function settled(release: string): (images: readonly BootImage[]) => boolean {
  return (images) =>
    machineSets.every(({ name, owner }) => {
      const status = images.find((image) => image.spec?.machineSet?.name === name)?.status;
      return owner === undefined
        ? status?.phase === 'Current' && status.current === release
        : status?.phase === 'Skipped';
    });
}

async function report({ client, switchboard, tell }: Stage, before: ReadonlyMap<string, string>): Promise<void> {
  const after = await templatesOf(client);
  const rows = [...after].toSorted(([a], [b]) => a.localeCompare(b));
  tell.say('\nWhat the machine sets point at:');
  tell.say(
    table(
      [
        { header: 'MACHINESET', cell: ([name]: readonly [string, string]) => name },
        { header: 'BEFORE', cell: ([name]) => before.get(name) ?? '' },
        { header: 'AFTER', cell: ([name, now]) => (now === before.get(name) ? '(unchanged)' : now) },
      ],
      rows,
    ),
  );
  tell.say("\nWhat vCenter's own inventory says:");
  tell.say(
    table(
      [
        { header: 'TEMPLATE', cell: (vm: Awaited<ReturnType<Switchboard['templates']>>[number]) => vm.name },
        { header: 'VERSION', cell: (vm) => vm.productVersion },
        { header: 'HOST', cell: (vm) => vm.host },
        { header: 'TAGS', cell: (vm) => vm.tags.join(', ') },
      ],
      await switchboard.templates(),
    ),
  );
  tell.plain('');
}

/** The proof: exactly one template of the release for each failure domain, and no half-made machine. */
async function expectTemplates(switchboard: Switchboard, release: string): Promise<void> {
  const vms = await switchboard.vms();
  const found = vms.filter((vm) => vm.isTemplate && vm.productVersion === release);
  const half = vms.filter((vm) => !vm.isTemplate);
  if (found.length !== 2 || half.length !== 0) {
    throw new Error(
      `expected two templates of ${release} and no half-made machine; vCenter has ${found.map((vm) => vm.name).join(', ') || 'none'}` +
        ` and ${half.map((vm) => vm.name).join(', ') || 'none'} half-made`,
    );
  }
}
