import type { Benchmark } from '../measure.ts';
import { pointer } from './pointer.ts';
import { rotation } from './rotation.ts';
import { swap } from './swap.ts';

/** The way there and back for large fleets. */
export const benchmark: Benchmark = {
  name: 'image',
  about: 'plans, rotations and reverts of large fleets, against what they are made of, bare',
  async run(report, signal) {
    await rotation(report, signal);
    await pointer(report, signal);
    await swap(report, signal);
  },
};
