import type { ClusterScenario } from './scenarios.ts';
import { APPLY_SCENARIOS } from './scenarios-apply.ts';
import { EDGE_SCENARIOS } from './scenarios-edges.ts';
import { READ_SCENARIOS } from './scenarios-reads.ts';
import { SCHEMA_SCENARIOS } from './scenarios-schema.ts';
import { WRITE_SCENARIOS } from './scenarios-writes.ts';

/** The table. Run it against every implementation of `KubeClient` and every server: in memory, real, or another client. */
export const CLUSTER_SCENARIOS: readonly ClusterScenario[] = [
  ...WRITE_SCENARIOS,
  ...SCHEMA_SCENARIOS,
  ...APPLY_SCENARIOS,
  ...EDGE_SCENARIOS,
  ...READ_SCENARIOS,
];
