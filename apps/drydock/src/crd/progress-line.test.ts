import assert from 'node:assert/strict';
import { test } from 'node:test';
import { progressLine } from './progress-line.ts';

function sink(isTTY: boolean): { readonly sink: NodeJS.WriteStream; readonly written: string[] } {
  const written: string[] = [];
  const write = (text: string): boolean => written.push(text) > 0;
  return { sink: { isTTY, columns: 40, write } as unknown as NodeJS.WriteStream, written };
}

const at = (objects: number) => ({ crd: 'clusterversions.config.openshift.io', kind: 2, kinds: 60, objects });

test('a terminal sees one line, cut to its width, which is redrawn now and then and gone at the end', () => {
  const { sink: terminal, written } = sink(true);
  const line = progressLine(terminal);
  for (let objects = 0; objects < 100; objects += 1) line.show(at(objects));
  line.end();
  assert.equal(written[0], '\r2 of 60 kinds, 0 objects  clusterversio\u001b[K');
  assert.equal(written.at(-1), '\r\u001b[K');
  assert.ok(written.length < 100, `${written.length} lines`);
});

test('what is no terminal sees nothing', () => {
  const { sink: file, written } = sink(false);
  const line = progressLine(file);
  line.show(at(1));
  line.end();
  assert.deepEqual(written, []);
});
