export { settle, type VirtualClock, virtualClock } from './clock.ts';
export {
  type Answer,
  CONFIG_MAP,
  type ConfigMap,
  type MisbehavingServer,
  misbehavingServer,
  type SeenRequest,
  sendJson,
  sendStatus,
} from './server.ts';
export { until } from './until.ts';
