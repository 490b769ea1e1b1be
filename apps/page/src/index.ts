export { type Assets, pageAssets } from './server/assets.ts';
export { bearerTokens, PAGE_AUDIENCE, TOKEN_HEADER } from './server/bearer.ts';
export { type Feed, type FeedOptions, feed } from './server/feed.ts';
export { isLoopback, loopbackOnly } from './server/loopback.ts';
export { type RemotePage, relayPage } from './server/relay.ts';
export { type Admission, type Admit, type PageServer, type PageServerOptions, startPage } from './server/server.ts';
export type { Answer, AnswerRow, PageState, SetRow } from './state/page-state.ts';
export type {
  DatastoreHealth,
  PageLeader,
  PageRelease,
  PageWorld,
  Read,
  RefusedLogin,
  Told,
  VCenterHealth,
} from './state/page-world.ts';
export { type ScaleAnswer, type ScaleWorld, scaleAnswer } from './state/scale-answer.ts';
export { pageState } from './state/state.ts';
