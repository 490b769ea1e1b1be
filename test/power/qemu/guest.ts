import { closeSync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { type FsOps, isChange, nodeOps, syncDir, tapOps } from '@drydock/durable';
import { type Protocol, protocols } from '@drydock/durable/testing';

// Runs in the virtual machine: every operation once, and a stop after each call that changes something, at which the host takes a copy of the disk.

const DISK = '/data';

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/** Stops until the host has its copy. */
function pause(what: string): void {
  say(`CUT ${what}`);
  readSync(0, Buffer.alloc(16));
}

/** Somebody else's sync: the journal commits. */
function othersSync(): void {
  const fd = openSync(`${DISK}/unrelated`, 'w');
  writeSync(fd, 'x');
  fsyncSync(fd);
  closeSync(fd);
}

async function play(
  name: string,
  protocol: Pick<Protocol, 'prepare' | 'act' | 'exchange'>,
  others: boolean,
): Promise<void> {
  await protocol.prepare({ ...nodeOps });
  const disk = await nodeOps.open(DISK, 'directory', 0);
  await nodeOps.syncfs(disk);
  await nodeOps.close(disk);
  const refuses = (): Promise<never> => Promise.reject(Object.assign(new Error('EINVAL'), { code: 'EINVAL' }));
  const machine: FsOps = { ...nodeOps, ...(protocol.exchange ? {} : { exchange: refuses }) };
  const ops = tapOps(machine, async (call, run) => {
    const result = await run();
    if (isChange(call)) {
      if (others) othersSync();
      pause(`${name} before`);
    }
    return result;
  });
  await protocol.act(ops);
  if (others) othersSync();
  pause(`${name} acked`);
}

for (const index of protocols('/').keys())
  for (const others of [false, true]) {
    const root = `${DISK}/${index}-${others ? 'others' : 'quiet'}`;
    mkdirSync(root);
    const protocol = protocols(root)[index];
    if (protocol !== undefined) await play(root.slice(DISK.length + 1), protocol, others);
  }

// Without syncs the same must come out torn, or lost.
const files = (text: string) => new Map(['a', 'b'].map((name) => [name, { content: `${text} ${name}` }]));
for (const others of [false, true]) {
  const root = `${DISK}/unsynced-${others ? 'others' : 'quiet'}`;
  mkdirSync(root);
  const target = `${root}/t`;
  await play(
    root.slice(DISK.length + 1),
    {
      prepare: (ops) => syncDir({ target, files: files('old'), ops }),
      act: (ops) => syncDir({ target, files: files('new'), ops: { ...ops, fsync: async () => undefined } }),
      exchange: true,
    },
    others,
  );
}
say('END');
