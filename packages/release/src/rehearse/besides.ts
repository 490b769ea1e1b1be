import { readRollbackMarker } from '@drydock/crd';
import type { KubeObject } from '@drydock/kube';
import { bridgeColumn } from '../rollback/bridge-definition.ts';
import { specOf } from '../rollback/definitions.ts';
import type { Evidence, KeptAtBridge, Script } from './evidence.ts';
import { PATIENCE } from './pace.ts';
import { diceOf } from './sample.ts';
import type { Stage } from './stage.ts';

/** What a way back looks like at moments in which somebody is killed. */
const MOMENTS: readonly (readonly [what: string, seen: (one: KubeObject) => boolean])[] = [
  ['when the writers were told', (one) => readRollbackMarker(one) !== undefined],
  ['at the first bridge', isBridge],
];

/** Kills what is to be killed, each at a moment that follows from the seed. A way that ends before has no such moment. */
export async function killOnTheWay(stage: Stage, script: Script, evidence: Evidence): Promise<void> {
  const dice = diceOf(script.seed);
  for (const one of script.besides) {
    if (one === 'legacy') continue;
    const [when, seen] = MOMENTS[dice() % MOMENTS.length] ?? ['', () => true];
    let over = false;
    await script.pace.until(`a moment ${when}`, PATIENCE, async () => {
      stage.managers.alive();
      if ([...stage.definitions.all()].some((definition) => seen(definition as KubeObject))) return true;
      over = await isBack(stage);
      return over;
    });
    if (over) return;
    const asked = performance.now();
    if (one === 'servers') {
      const { era } = stage;
      evidence.serverKilled = true;
      stage.managers.excuse();
      const next = await stage.switchServers();
      evidence.killed.push(`the API server, ${when}: ${era} became ${next}`);
    } else {
      const who = await stage.managers.killLeader();
      if (who !== undefined) evidence.killed.push(`${who}, ${when}`);
    }
    script.say(`killed ${evidence.killed.at(-1) ?? 'nobody'} (${((performance.now() - asked) / 1_000).toFixed(1)} s)`);
  }
}

/** Waits until it is told which definitions are not narrowed, or until the way is gone. */
export async function keptAtBridge(stage: Stage, script: Script): Promise<KeptAtBridge> {
  let said = '';
  await script.pace.until('what is left at the bridge', PATIENCE, async () => {
    stage.managers.alive();
    const { status } = await stage.subject.current(script.signal);
    said =
      status?.conditions?.find(({ type, status: is }) => type === 'RollbackIncomplete' && is === 'True')?.message ?? '';
    return said !== '' || (await isBack(stage));
  });
  const bridges = [...stage.definitions.all()].filter((one) => isBridge(one as KubeObject));
  return { said, definitions: bridges.map(({ metadata }) => metadata.name) };
}

async function isBack({ older, subject }: Stage): Promise<boolean> {
  const [head] = (await subject.current()).status?.history ?? [];
  return head?.version === older.version && head.state === 'Completed';
}

function isBridge(one: KubeObject): boolean {
  return bridgeColumn(specOf(one)) !== undefined;
}
