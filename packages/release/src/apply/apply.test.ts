import { test } from 'node:test';
import { APPLY_SCENARIOS } from '../testing/apply-scenarios.ts';
import { memoryApplyCluster } from '../testing/memory-apply.ts';

for (const scenario of APPLY_SCENARIOS) test(`in memory: ${scenario.name}`, () => scenario.run(memoryApplyCluster()));
