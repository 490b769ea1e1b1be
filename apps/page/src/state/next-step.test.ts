import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepParts } from './next-step.ts';

/** Commands in brackets. */
function marked(step: string): string {
  return stepParts(step)
    .map(({ command, text }) => (command ? `[${text}]` : text))
    .join('');
}

test('FIND-23: commands of a next step are told from its prose', () => {
  for (const [step, expected] of [
    ['drydock explain worker-c', '[drydock explain worker-c]'],
    ['drydock status -o wide, for the sets that fail', '[drydock status -o wide], for the sets that fail'],
    ['to follow it: drydock operator --downgrade replace', 'to follow it: [drydock operator --downgrade replace]'],
    [
      'grant it (kubectl apply -k deploy/rbac/canary), or do without: kubectl edit bootimagepolicy p',
      'grant it ([kubectl apply -k deploy/rbac/canary]), or do without: [kubectl edit bootimagepolicy p]',
    ],
    [
      `kubectl patch x y --type json -p '[{"op":"remove","path":"/spec/a"}]'; then wait`,
      `[kubectl patch x y --type json -p '[{"op":"remove","path":"/spec/a"}]']; then wait`,
    ],
    ['who made it so? oc -n ns get cm a', 'who made it so? [oc -n ns get cm a]'],
    ['it is tried again; see why the proxy answers', 'it is tried again; see why the proxy answers'],
    ['restore key stream of configmap a/drydock b', 'restore key stream of configmap a/drydock b'],
    ['', ''],
  ] as const)
    assert.equal(marked(step), expected);
});
