import {
  capiCluster,
  capiKind,
  capiObject,
  machineDeployment,
  putPolicy,
  runCapiRole,
  saidOfDeployment,
  templateRef,
} from '@drydock/boot-images/testing';
import { compared, type Figure, median } from '../measure.ts';

const FEW = 500;
const MANY = 1000;
const ROUNDS = 3;

type Pace = 'at once' | 'one at a time';

interface Outcome {
  readonly ms: number;
  /** Writes of one deployment, those of its template and its BootImage among them, by what is written. */
  readonly writes: number;
}

/** An image that all MachineDeployments are to have, by the whole role on a cluster in memory. The limit is the two writes that each needs, by the same client, with nothing around them. */
export async function rotation(report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  for (const pace of ['at once', 'one at a time'] as const) {
    const rounds = { few: [] as Outcome[], many: [] as Outcome[], bare: [] as number[] };
    // The first round compiles.
    for (let round = 0; round <= ROUNDS; round++) {
      signal.throwIfAborted();
      const few = await ours(FEW, pace);
      const many = await ours(MANY, pace);
      const limit = await bare(MANY);
      if (round === 0) continue;
      rounds.few.push(few);
      rounds.many.push(many);
      rounds.bare.push(limit);
    }
    const ms = (of: readonly Outcome[]): number => median(of.map((outcome) => outcome.ms));
    const common = { bench: 'image', case: `rotation, ${pace}`, lowerIsBetter: true } as const;
    report(compared({ ...common, metric: 'time', unit: 'ms', ours: ms(rounds.many), peer: median(rounds.bare) }));
    report(
      compared({
        ...common,
        metric: `${MANY} to ${FEW}`,
        unit: 'ms',
        ours: ms(rounds.many),
        peer: ms(rounds.few),
        goal: 2.2,
      }),
    );
    const most = Math.max(...rounds.many.map(({ writes }) => writes));
    report({ ...common, metric: 'writes each', unit: '', ours: most, peer: 2, goal: 3 });
  }
}

function world(count: number) {
  const cluster = capiCluster();
  cluster.put(capiKind('Cluster'), { namespace: 'ns', name: 'c1' }, capiObject('Cluster', 'c1', {}));
  const names = Array.from({ length: count }, (_, index) => `set-${String(index).padStart(5, '0')}`);
  for (const name of names) {
    const spec = { template: { spec: { ami: { id: 'ami-old' }, instanceType: 'm6i.xlarge', sshKeyName: name } } };
    const template = capiObject('AWSMachineTemplate', name, spec);
    cluster.put(capiKind('AWSMachineTemplate'), { namespace: 'ns', name }, template);
    const deployment = machineDeployment(name, name, { infrastructureRef: templateRef(name, 'AWSMachineTemplate') });
    cluster.put(capiKind('MachineDeployment'), { namespace: 'ns', name }, deployment);
  }
  return { cluster, names };
}

const catalogue = (image: string) => ({ catalogue: [{ version: 'v1.34.2', image }] });

/** From the policy that wants another image until every BootImage says that its set has it. */
async function ours(count: number, pace: Pace): Promise<Outcome> {
  const { cluster, names } = world(count);
  const more = pace === 'at once' ? {} : { pace: { setsAtATime: 1 } };
  putPolicy(cluster, { image: catalogue('ami-old'), ...more });
  await using role = await runCapiRole(cluster);
  const all = async (image: string): Promise<void> => {
    const left = new Set(names);
    while (left.size > 0) {
      for (const name of left) {
        const { phase, current } = saidOfDeployment(cluster, name) ?? {};
        if (phase === 'Current' && current === image) left.delete(name);
        // The rest is asked about when this one is there.
        else break;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await all('ami-old');
  const before = role.writes.length;
  const since = performance.now();
  putPolicy(cluster, { image: catalogue('ami-new'), ...more }, 2);
  await all('ami-new');
  const ms = performance.now() - since;
  return { ms, writes: (role.writes.length - before) / count };
}

/** A copy of each template, and each reference patched. */
async function bare(count: number): Promise<number> {
  const { cluster, names } = world(count);
  const client = cluster.client();
  const path = '/spec/template/spec/infrastructureRef/name';
  const since = performance.now();
  for (const name of names) {
    const template = await client.get(capiKind('AWSMachineTemplate'), { namespace: 'ns', name });
    const copy = { ...template, metadata: { namespace: 'ns', name: `${name}-copy` } };
    await client.create(capiKind('AWSMachineTemplate'), copy);
    const ops = [{ op: 'replace', path, value: `${name}-copy` }] as const;
    await client.patch(capiKind('MachineDeployment'), { namespace: 'ns', name }, ops);
  }
  return performance.now() - since;
}
