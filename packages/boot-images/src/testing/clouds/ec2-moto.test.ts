import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { request } from 'undici';
import { signedHeaders } from '../../aws/signature.ts';
import { childOf, itemsOf, readXml, textAt } from '../../aws/xml.ts';
import { awsImage, oldAwsImage, publishAmi, publishProduct, rosa } from '../fake-aws.ts';
import { type FakeAmi, fakeEc2 } from './ec2.ts';

const there = spawnSync('python3', ['-c', 'import moto.server, flask'], { encoding: 'utf8' }).status === 0;

const SERVE = `
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
`;

/** An image as moto takes it from a file. */
const inFile = ({ id, owner, name, description = '', architecture, state, created }: FakeAmi) => ({
  ...{ ami_id: id, owner_id: owner, name, description, architecture, state, creation_date: created, public: true },
  ...{
    image_location: name,
    image_type: 'machine',
    platform: null,
    root_device_name: '/dev/xvda',
    root_device_type: 'ebs',
  },
  ...{ sriov: 'simple', virtualization_type: 'hvm', hypervisor: 'xen' },
});

const missing = ['ami-00000000000000bad', 'ami-00000000000000dad'] as const;

/**
 * Calls on which both must agree. What moto is known to do wrong is not among them: product codes, aliases of owners, pages, deprecation; and of several ids it leaves
 * out those that are not there, where EC2 refuses the call.
 */
const table: readonly (readonly [what: string, parameters: Readonly<Record<string, string>>])[] = [
  ['one id', { 'ImageId.1': awsImage }],
  ['two ids', { 'ImageId.1': awsImage, 'ImageId.2': oldAwsImage }],
  ['an id that is not there', { 'ImageId.1': missing[0] }],
  ['two ids that are not there', { 'ImageId.1': missing[0], 'ImageId.2': missing[1] }],
  ['an id that is none', { 'ImageId.1': 'fake' }],
  ['an owner', { 'Owner.1': '531415883065' }],
  ['an owner that has nothing', { 'Owner.1': '000000000000' }],
  ['a name', { 'Filter.1.Name': 'name', 'Filter.1.Value.1': `*${rosa}*` }],
  [
    'a name and an architecture',
    {
      ...{ 'Filter.1.Name': 'name', 'Filter.1.Value.1': `*${rosa}*` },
      ...{ 'Filter.2.Name': 'architecture', 'Filter.2.Value.1': 'arm64' },
    },
  ],
  ['a name that nothing has', { 'Filter.1.Name': 'name', 'Filter.1.Value.1': 'none*' }],
];

test('the double of EC2 answers as moto does', {
  skip: there ? false : 'there is no moto with flask for python3',
}, async (t) => {
  const { state, answer } = fakeEc2();
  for (const id of [awsImage, oldAwsImage]) publishAmi(state, { id });
  publishProduct(state, 'ami-0000000000000000a', '9.6.20260110-0', { product: rosa });
  publishProduct(state, 'ami-0000000000000000b', '9.6.20260110-0', { product: rosa, architecture: 'arm64' });
  const folder = await mkdtemp(join(tmpdir(), 'drydock-moto-'));
  const file = join(folder, 'amis.json');
  await writeFile(file, JSON.stringify([...(state.regions.get('us-east-1')?.values() ?? [])].map(inFile)));
  const moto = spawn('python3', ['-c', SERVE], {
    env: { ...process.env, MOTO_AMIS_PATH: file },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    const [port] = (await once(moto.stdout, 'data', { signal: AbortSignal.timeout(60_000) })) as [Buffer];
    for (const [what, parameters] of table)
      await t.test(what, async () => {
        const url = 'https://ec2.us-east-1.amazonaws.com/';
        const body = new URLSearchParams({ Action: 'DescribeImages', Version: '2016-11-15', ...parameters }).toString();
        const form = { url, body, service: 'ec2', region: 'us-east-1', at: new Date() };
        const headers = { host: new URL(url).host, ...signedHeaders(form, state.keys) };
        const ours = answer({
          host: headers.host,
          method: 'POST',
          path: '/',
          query: new URLSearchParams(),
          headers,
          body,
        });
        const theirs = await request(`http://127.0.0.1:${port.toString().trim()}/`, { method: 'POST', headers, body });
        assert.deepEqual(said(ours.status, String(ours.body)), said(theirs.statusCode, await theirs.body.text()));
      });
  } finally {
    moto.stdin.end();
    moto.kill();
    await rm(folder, { recursive: true });
  }
});

/** What both must say. */
function said(status: number, text: string): unknown {
  const root = readXml(text);
  const error = childOf(childOf(root, 'Errors'), 'Error');
  if (error !== undefined) return { status, code: textAt(error, 'Code'), message: textAt(error, 'Message') };
  const fields = [
    'imageId',
    'imageState',
    'imageOwnerId',
    'architecture',
    'name',
    'description',
    'isPublic',
    'imageType',
  ];
  const images = itemsOf(root, 'imagesSet').map((item) => fields.map((field) => textAt(item, field)).join(' | '));
  return { status, root: root.name, images: images.toSorted((a, b) => a.localeCompare(b)) };
}
