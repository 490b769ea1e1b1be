export { type Followed, follow, type Moments, nowMicros, percentile } from './follow.ts';
export { quickest } from './quickest.ts';
