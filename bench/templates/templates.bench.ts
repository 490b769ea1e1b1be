import type { Benchmark } from '../measure.ts';
import { domains } from './domains.ts';
import { pointer } from './pointer.ts';
import { swap } from './swap.ts';

/** How templates are replaced: by pointer, by a swap, backwards, and in many failure domains. */
export const benchmark: Benchmark = {
  name: 'templates',
  about: 'replacing templates of a simulated vCenter',
  async run(report, signal) {
    await swap(report, signal);
    await domains(report, signal);
    await pointer(report, signal);
  },
};
