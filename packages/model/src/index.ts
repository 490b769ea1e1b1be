export { type VirtualClock, virtualClock } from './clock.ts';
export { type Coverage, type Exploration, ExplorationError, explore, type Scenario, type Tripwire } from './explore.ts';
export { generator, type Scheduler, scheduler } from './scheduler.ts';
