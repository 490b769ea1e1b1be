/** The limit: the same pages are asked for and parsed, and nothing else is done with them. */
import { answerJobs, cpuSeconds } from '../answer.ts';

/** Where the objects are. */
export interface ReadJob {
  readonly url: string;
}

/** What reading them took. */
export interface ReadResult {
  readonly objects: number;
  readonly cpuSeconds: number;
}

async function read({ url }: ReadJob): Promise<ReadResult> {
  const before = cpuSeconds();
  let objects = 0;
  for (let from: string | undefined = '0'; from !== undefined; ) {
    const answer = await fetch(`${url}?limit=500&continue=${from}`);
    const page = JSON.parse(await answer.text()) as {
      readonly items: readonly object[];
      readonly metadata: { readonly continue?: string };
    };
    objects += page.items.length;
    from = page.metadata.continue;
  }
  return { objects, cpuSeconds: cpuSeconds() - before };
}

await answerJobs(read);
