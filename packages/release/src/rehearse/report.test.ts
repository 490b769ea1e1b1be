import assert from 'node:assert/strict';
import { test } from 'node:test';
import { junitOf } from './junit.ts';
import { pageOf } from './page.ts';
import type { RehearsalReport } from './rehearsal.ts';

const hostile = `</title><script>fetch("https://example.com")</script>'"&\u0000`;
const report: RehearsalReport = {
  ...{ older: '1.0.0', newer: hostile, seed: 7, passed: false },
  cells: [
    {
      ...{
        era: 'E1',
        server: 'kube-apiserver v1.32.13',
        abortAt: 50,
        seed: 7,
        took: 1_234,
        broken: hostile,
        face: 'Payload',
        besides: ['servers'],
      },
      assertions: [
        { id: 'A1', title: 'it passes', verdict: 'passed', seen: hostile },
        { id: 'A2', title: 'it fails', verdict: 'failed', seen: hostile },
        { id: 'A3', title: 'it is skipped', verdict: 'skipped', seen: hostile },
      ],
      control: [
        {
          ...{ definition: hostile, object: 'o', write: 'main', predicted: 'taken', observed: 'refused', said: '' },
          prepared: { taken: 3, refused: 0 },
        },
      ],
      exercises: [{ definition: 'd', path: hostile, effect: 'cut' }],
      unexercised: [{ definition: 'd', rule: 'N1', path: 'p', why: hostile }],
      timeline: [
        { at: 100, actor: hostile, verb: 'update', resource: hostile, code: 422, count: 2 },
        {
          at: 200,
          actor: 'drydock-release',
          verb: 'update',
          resource: 'customresourcedefinitions',
          code: 200,
          count: 1,
        },
      ],
      scenes: [{ scene: hostile, from: 0, to: 1_000 }],
    },
  ],
};

test('JUnit: a case for each assertion, an error for a way that broke off, and nothing that an XML reader stumbles over', () => {
  const xml = junitOf(report);
  assert.match(xml, /tests="4" failures="1" errors="1" skipped="1" time="1\.2"/);
  assert.match(xml, /<property name="seed" value="7"\/>/);
  assert.match(xml, /<property name="server" value="kube-apiserver v1\.32\.13"\/>/);
  assert.equal(xml.match(/<testcase /g)?.length, 4);
  assert.doesNotMatch(xml, /<script/);
  assert.ok(!xml.includes('\0'));
  // Each tag is closed: of what is left without texts, opening and closing ones are paired.
  const tags = [...xml.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)].filter(([, , , self]) => self === '');
  const open: string[] = [];
  for (const [, closing, name = ''] of tags) {
    if (closing === '') open.push(name);
    else assert.equal(open.pop(), name);
  }
  assert.deepEqual(open, []);
});

test('the page asks nobody for anything, and repeats what it was told as text', () => {
  const page = pageOf(report);
  assert.doesNotMatch(page, /<script|<link|<img|<iframe|\ssrc=|\shref="[^#]|url\(|@import/);
  assert.match(page, /default-src 'none'/);
  assert.match(page, /prefers-color-scheme:dark/);
  assert.match(page, /<circle class="refused"/);
  assert.match(page, /<rect class="swap"/);
  assert.match(page, /does not hold/);
  assert.match(page, /On kube-apiserver v1\.32\.13, 1\.2 s/);
  assert.doesNotMatch(page, /<a /);
  const [cell = assert.fail('there is one')] = report.cells;
  const two = pageOf({ ...report, cells: [cell, cell] });
  assert.match(
    two,
    /<a href="#cell-2">E1, broken off at 50 %, with another API server on the way<\/a>.*not gone to its end, A2/,
  );
  assert.match(two, /<section id="cell-2">/);
});
