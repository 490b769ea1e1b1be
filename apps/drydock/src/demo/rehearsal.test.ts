import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparison } from './rehearsal.ts';

type Control = Parameters<typeof comparison>[0]['control'][number];
const cell = (observed: Control['observed'], prepared: Control['prepared']): Control => ({
  ...{ definition: 'd', object: 'version', write: 'status' as const, predicted: 'refused' as const },
  ...{ observed, prepared, said: 'ClusterVersion "version" is invalid: [status.capabilities: Unsupported value: "x"' },
});

test('the chapter ends with an error where nothing is refused unprepared, or something is with Drydock', () => {
  const taken = { taken: 7, refused: 0 };
  assert.match(
    comparison({ control: [cell('refused', taken)] }),
    /version +its operator, that keeps what it knows +422 +7 status writes taken\s+422 status\.capabilities: Unsupported value/,
  );
  assert.throws(() => comparison({ control: [cell('taken', taken)] }), /there is no trap/);
  assert.throws(() => comparison({ control: [cell('refused', { taken: 7, refused: 1 })] }), /was not written/);
  assert.throws(() => comparison({ control: [cell('refused', { taken: 0, refused: 0 })] }), /was not written/);
});
