import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idText } from '@drydock/release';
import { applyProgressLine } from './apply-progress.ts';

const object = {
  ...{ group: 'machineconfiguration.openshift.io', kind: 'ContainerRuntimeConfig' },
  ...{ namespace: 'openshift-machine-config', name: 'runtime' },
};

/** What a terminal of a width shows. */
function shown(columns: number, why: string): string {
  let text = '';
  const write = (said: string): void => {
    text += said;
  };
  const sink = { isTTY: true, columns, write };
  using line = applyProgressLine(sink, idText, () => 12_000);
  line.show({ done: 412, total: 900, waiting: [{ object, why, since: new Date(0) }] });
  return text.replace('\r', '').replace('\u001b[K', '');
}

test('a terminal shows of a release what is waited for and why, in whatever room it has', () => {
  const why = '1 of 3 replicas is ready';
  const full =
    '412 of 900, waits for ContainerRuntimeConfig.machineconfiguration.openshift.io openshift-machine-config/runtime';
  assert.equal(shown(200, why), `[##########--------------] ${full} since 12s (${why})`);
  assert.equal(shown(165, why), `[###-----] ${full} since 12s (${why})`);
  const short = `412 of 900, waits for ContainerRuntimeConfig runtime since 12s (${why})`;
  assert.equal(shown(101, why), `[###-----] ${short}`);
  assert.equal(shown(90, why), short);
  assert.equal(shown(80, why).length, 79);
  assert.match(shown(80, why), /runtime since 12s \(1 of 3 replica…$/);
  for (const columns of [20, 40, 60, 80, 120, 200]) assert.ok(shown(columns, why.repeat(5)).length < columns);
});
