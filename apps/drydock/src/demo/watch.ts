import { burst } from './burst.ts';
import { latency } from './latency.ts';
import { repair, watchTemplates } from './repair.ts';
import type { Stage } from './stage.ts';

/** Changes in vCenter become requests: none is lost with a session, a template that is destroyed is made again, and soon. */
export async function watchChapter(stage: Stage): Promise<void> {
  stage.tell.chapter('WATCH: what changes in vCenter is noticed at once, and no change is lost');
  const operator = await watchTemplates(stage);
  await burst(stage);
  await repair(stage, operator);
  await latency(stage);
}
