/** Files that are soaked together, and their share of the time. */
export interface SoakPart {
  readonly name: string;
  /** Patterns of test files, from the root. */
  readonly files: readonly string[];
  readonly weight: number;
}

/**
 * Whatever plays more seeds, cuts or kills when it is told to, each file in one part; `test-files.test.ts` finds one that is missing. What destroys
 * most when it is wrong has most of the time.
 */
export const SOAK_PARTS: readonly SoakPart[] = [
  { name: 'templates: crashes explored', files: ['test/model/templates-!(replay*).test.ts'], weight: 5 },
  {
    name: 'templates: a neighbour who replays',
    files: ['test/model/templates-replay*.test.ts', 'test/sandbox/template-replay.test.ts'],
    weight: 3,
  },
  { name: 'templates: killed processes', files: ['test/sandbox/template-{kill,cli-signals}.test.ts'], weight: 4 },
  {
    name: 'boot images: killed at each change',
    files: ['test/sandbox/boot-images-{crash,policy}.test.ts', 'test/sandbox/{cluster-api,way-back}.test.ts'],
    weight: 3,
  },
  { name: 'boot images: ways back explored', files: ['test/model/way*.test.ts'], weight: 3 },
  {
    name: 'releases: beside cluster-version-operator',
    files: ['test/neighbours/{cluster-version-operator,release-compared}.test.ts'],
    weight: 2,
  },
  {
    name: 'beside the programs of upstream',
    files: ['test/neighbours/!(cluster-version-operator|release-compared).test.ts'],
    weight: 1,
  },
  {
    name: 'boot images: plans and rotations',
    files: [
      'packages/boot-images/src/c*/*.model.test.ts',
      'packages/boot-images/src/plan/*.test.ts',
      'test/model/plan.test.ts',
    ],
    weight: 2,
  },
  {
    name: 'status and its ledger',
    files: ['test/model/status-ledger.test.ts', 'test/sandbox/crd-writer*.test.ts'],
    weight: 4,
  },
  { name: 'caches under a lying server', files: ['test/model/kube-*.test.ts'], weight: 3 },
  { name: 'clients under a bad network', files: ['test/sandbox/kube-resilience-{list,managers}.test.ts'], weight: 2 },
  {
    name: 'schemas against real servers',
    files: ['packages/crd/src/**/*.model.test.ts', 'test/sandbox/crd-!(writer*).test.ts'],
    weight: 5,
  },
  { name: 'hostile neighbours', files: ['test/sandbox/hostile-neighbour.test.ts'], weight: 2 },
  {
    name: 'releases: killed while they are applied',
    files: [
      'packages/release/src/{apply,manager,rescue}/**/*{.model,config-maps}.test.ts',
      'packages/release/src/rollback/rollback.model.test.ts',
      'test/sandbox/release-!(way-back-kill).test.ts',
    ],
    weight: 2,
  },
  {
    name: 'releases: two managers on the way back',
    files: ['packages/release/src/rollback/two-managers.model.test.ts'],
    weight: 1,
  },
  { name: 'releases: killed on the way back', files: ['test/sandbox/release-way-back-kill.test.ts'], weight: 2 },
  { name: 'logins: a wrong password', files: ['packages/vsphere/src/session/*.model.test.ts'], weight: 1 },
  {
    name: 'readers of foreign bytes',
    files: [
      'api/src/json.test.ts',
      'packages/vsphere/src/xml/xml-tokenizer.test.ts',
      'packages/vsphere/src/updates/scanner.test.ts',
      'test/foreign/*.test.ts',
    ],
    weight: 2,
  },
  { name: 'watch: histories', files: ['packages/vm-watch/src/**/*.model.test.ts'], weight: 3 },
  { name: 'watch: killed processes', files: ['test/sandbox/vm-watch-{kill,signals}.test.ts'], weight: 3 },
  {
    name: 'files: every disk after a cut',
    files: ['packages/durable/src/*.model.test.ts', 'packages/durable/src/readers.test.ts'],
    weight: 2,
  },
  { name: 'files: power cuts', files: ['test/power/!(static-pods*|qemu).test.ts'], weight: 4 },
  { name: 'files: cut machines', files: ['test/power/qemu.test.ts', 'test/power/qemu/*.test.ts'], weight: 2 },
  {
    name: 'static pods',
    files: [
      'packages/static-pods/src/**/*.model.test.ts',
      'test/power/static-pods*.test.ts',
      'test/sandbox/static-pods.test.ts',
    ],
    weight: 3,
  },
];
