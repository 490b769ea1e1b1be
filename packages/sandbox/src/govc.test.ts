import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ovfText } from '@drydock/vsphere/testing';
import { skips, start } from './testing/simulator.ts';
import { toolPath } from './tool.ts';

const run = promisify(execFile);
const POOL = '/DC0/host/DC0_C0/Resources';

/** One member of a tar archive (POSIX ustar). */
function member(name: string, bytes: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  for (const [at, text] of [
    [100, '0000644\0'],
    [108, '0000000\0'],
    [116, '0000000\0'],
    [124, `${bytes.length.toString(8).padStart(11, '0')}\0`],
    [136, '00000000000\0'],
    [148, '        '],
    [156, '0'],
    [257, 'ustar\x0000'],
  ] as const)
    header.write(text, at, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

/** What an administrator does with govc, from the first look to the last machine. */
const script = (ova: string): readonly (readonly string[])[] => [
  ['about'],
  ['ls', '/'],
  ['ls', '-l', '/DC0/host/DC0_C0'],
  ['find', '/'],
  ['find', '/', '-type', 'd'],
  ['import.ova', '-ds', 'LocalDS_0', '-pool', POOL, '-name', 'imported', ova],
  ['vm.info', 'imported'],
  ['vm.markastemplate', 'imported'],
  ['object.collect', '-s', '/DC0/vm/imported', 'name', 'config.template', 'runtime.powerState'],
  ['vm.clone', '-vm', 'imported', '-pool', POOL, '-ds', 'LocalDS_0', '-on=false', 'cloned'],
  ['object.rename', '/DC0/vm/cloned', 'renamed'],
  ['find', '/DC0/vm', '-type', 'm'],
  ['vm.power', '-on', 'renamed'],
  ['vm.info', 'renamed'],
  ['tags.category.create', '-m', 'zone'],
  ['tags.create', '-c', 'zone', 'a'],
  ['tags.attach', '-c', 'zone', 'a', '/DC0/vm/renamed'],
  ['tags.ls'],
  ['tags.attached.ls', '-r', '/DC0/vm/renamed'],
  ['object.rename', '/DC0/vm/nothing', 'x'],
  ['vm.power', '-off', 'renamed'],
  ['vm.markasvm', '-pool', POOL, 'imported'],
  ['object.destroy', '/DC0/vm/imported'],
  ['vm.destroy', 'renamed'],
  ['ls', '/DC0/vm'],
];

/** What differs from start to start: identifiers, times, the host that a machine was put on. */
const plain = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\[\d\d-\d\d-\d\d [\d:]+\]/g, '[time]')
    .replaceAll(/\bvm-\d+/g, 'vm-N')
    .replaceAll(/DC0_C0_H\d$/gm, 'DC0_C0_HN')
    .replaceAll(/Boot time: .*/g, 'Boot time:')
    .replaceAll(/^.*\/govc: /gm, 'govc: ');

async function transcript(backend: 'embedded' | 'real', govc: string): Promise<string> {
  await using sim = await start(backend);
  const ova = join(sim.scratch, 'image.ova');
  const disk = Buffer.alloc(100_000, 7);
  const descriptor = Buffer.from(ovfText({ disk: 'disk.vmdk', size: disk.length, version: '9.8.1' }));
  writeFileSync(ova, Buffer.concat([member('image.ovf', descriptor), member('disk.vmdk', disk), Buffer.alloc(1024)]));
  const env = {
    ...process.env,
    ...{ GOVC_URL: sim.url, GOVC_USERNAME: 'sailor', GOVC_PASSWORD: 'p&w', GOVC_INSECURE: '1' },
    ...{ GOVC_PERSIST_SESSION: 'false', HOME: sim.scratch },
  };
  const lines: string[] = [];
  for (const args of script(ova)) {
    const { stdout, stderr, code } = await run(govc, [...args], { env }).then(
      (said) => ({ ...said, code: 0 }),
      (error: { readonly stdout: string; readonly stderr: string; readonly code: number }) => error,
    );
    lines.push(`$ govc ${args.join(' ').replace(ova, 'image.ova')}`, `${stdout}${stderr}`, `exit code ${code}`);
  }
  return plain(lines.join('\n'));
}

// govc is built with Go, as the real back end is.
test('one govc script prints the same on both back ends', {
  skip: skips('real', "it compares the embedded vCenter with govmomi's simulator"),
}, async () => {
  const govc = await toolPath('govc');
  const embedded = await transcript('embedded', govc);
  assert.equal(embedded, await transcript('real', govc));
  assert.deepEqual(
    [...embedded.matchAll(/exit code (\d+)/g)].map(([, code]) => code).filter((code) => code !== '0'),
    ['1'],
    'only the object that is not there is an error',
  );
});
