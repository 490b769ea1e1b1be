import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { memoryCluster } from '@drydock/kube/testing';
import { managersOf } from './managers.ts';

const LOST = '{"level":60,"err":{"code":"LeaseLost"}}\n';

test('a manager that loses its Lease while its server is away is started anew, once; whatever else ends one is told', () => {
  const directory = mkdtempSync(join(tmpdir(), 'drydock-managers-'));
  try {
    const started: { ended: boolean; log: string }[] = [];
    const managers = managersOf(1, {
      ports: {
        startOperator: (_args, log) => {
          const one = { ended: false, log };
          started.push(one);
          appendFileSync(log, '');
          return {
            alive: () => {
              if (one.ended) throw new Error('the operator ended by itself (1)');
            },
            crash: async () => {},
            [Symbol.asyncDispose]: async () => {},
          };
        },
      },
      cluster: { directory, kubeconfigFor: () => 'kubeconfig' },
      client: memoryCluster().client(),
      namespace: 'drydock',
      flags: [],
    });
    const end = (said: string): void => {
      const last = started.at(-1) ?? assert.fail('none runs');
      appendFileSync(last.log, said);
      last.ended = true;
    };
    managers.start();
    managers.excuse();
    end('{"level":60,"err":{"code":"PartEnded"}}\n');
    assert.throws(() => managers.alive(), /ended by itself/, 'of something else');
    end(LOST);
    managers.alive();
    assert.equal(started.length, 2, 'a new one runs');
    end(LOST);
    assert.throws(() => managers.alive(), /ended by itself/, 'once');
    assert.equal(started.length, 2);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
