export { type VirtualClock, virtualClock } from './clock.ts';
export {
  type Coverage,
  type Exploration,
  ExplorationError,
  explore,
  type Scenario,
  type Tripwire,
  type Worlds,
} from './explore.ts';
export { assertLinear, type Cost, type Growth, GrowthError } from './growth.ts';
export { generator, type Scheduler, scheduler } from './scheduler.ts';
export { firstSeed, repetitions, seeds, soaking, withSeed } from './seeds.ts';
export { type Tally, tally, timeLimit } from './tally.ts';
export { type ThreadContext, type ThreadTest, threadTests } from './thread-test.ts';
