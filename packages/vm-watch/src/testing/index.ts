export { type Followed, follow, type Moments, nowMicros, percentile } from './follow.ts';
