import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Decode, PropertyWatch, UpdateFeed, UpdateSink, XmlElement } from '@drydock/vsphere';
import { knownValues } from './known-values.ts';

const ref = { type: 'VirtualMachine', value: 'vm-1' };

function rig(): { readonly sink: Promise<UpdateSink>; readonly known: ReturnType<typeof knownValues>; parsed: number } {
  const inner = Promise.withResolvers<UpdateSink>();
  const watch = { next: async (_version: string, sink: UpdateSink) => inner.resolve(sink) } as unknown as PropertyWatch;
  const feed = { server: 'vc', watch: async () => watch } as unknown as UpdateFeed;
  const known = knownValues(feed);
  const nobody = { object: () => undefined, change: () => undefined } as unknown as UpdateSink;
  void known.feed.watch({ paths: [], containers: [] }).then((opened) => opened.next('', nobody));
  return { sink: inner.promise, known, parsed: 0 };
}

test('plain values are known without a parser, all others by it, and what is unset or large is told apart', async () => {
  const one = rig();
  const sink = await one.sink;
  const decode: Decode = (bytes): XmlElement => {
    one.parsed += 1;
    return { uri: '', name: 'val', attributes: [], children: [`parsed ${bytes.length}`] };
  };
  const set = (path: string, value: string | undefined): void =>
    sink.change(path, 'assign', value === undefined ? undefined : Buffer.from(value), decode);
  sink.object('enter', ref.type, ref.value);
  set('name', '<val xsi:type="xsd:string">worker-0</val>');
  set('empty', '<val xsi:type="xsd:string"></val>');
  set('gone', '<val xsi:type="xsd:string">x</val>');
  set('gone', undefined);
  assert.equal(one.parsed, 0);
  set('escaped', '<val xsi:type="xsd:string">a&amp;b</val>');
  set('umlaut', '<val xsi:type="xsd:string">ü</val>');
  set('self-closing', '<val xsi:type="xsd:string"/>');
  set('odd', '<val note=">">x</val>');
  set('prefixed', '<v:val>x</v:val>');
  assert.equal(one.parsed, 5);
  set('cdata', '<val><![CDATA[x]]></val>');
  assert.equal(one.parsed, 6);
  set('elements', '<val xsi:type="LatencySensitivity"><level>normal</level></val>');
  assert.equal(one.parsed, 6, 'elements are no text, and not parsed');
  set('large', `<val>${'x'.repeat(300)}</val>`);
  assert.equal(one.parsed, 6, 'what is large is not parsed');
  const values = ['name', 'empty', 'gone', 'escaped', 'elements', 'large', 'never'].map((path) =>
    one.known.value(ref, path),
  );
  assert.deepEqual(values, ['worker-0', '', null, 'parsed 40', undefined, undefined, null]);
  assert.equal(one.known.value({ ...ref, value: 'vm-2' }, 'name'), null);
  one.known.forget(ref);
  assert.equal(one.known.value(ref, 'name'), null);
});
