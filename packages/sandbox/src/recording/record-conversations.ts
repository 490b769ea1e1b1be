import { startSandbox } from '../sandbox.ts';
import { type Normal, play } from '../testing/conversations/conversation-player.ts';
import { wireSpeaker } from '../testing/conversations/conversation-speakers.ts';
import { CONVERSATIONS } from '../testing/conversations/conversation-table.ts';
import { writeRecordedAnswers } from '../testing/conversations/recorded-answers.ts';
import { startWebhookDouble } from '../testing/conversations/webhook-double.ts';

// Records what the real API server says in each conversation of the table, so that the embedded one is held to it where no real one is built:
// `node packages/sandbox/src/recording/record-conversations.ts`. `test/sandbox/embedded-conversations.test.ts` fails when the recording is out of date.

await using webhooks = await startWebhookDouble();
const answers = new Map<string, readonly Normal[]>();
for (const era of new Set(CONVERSATIONS.map((one) => one.era ?? 'E2'))) {
  await using sandbox = await startSandbox({ backend: 'real', era });
  await using speak = wireSpeaker(sandbox.admin);
  const own = CONVERSATIONS.filter((one) => (one.era ?? 'E2') === era);
  const recorded = own.map(async (one, at) => {
    answers.set(one.name, await play(one, speak, `recorded-${at}`, webhooks.places));
  });
  await Promise.all(recorded);
}
const sorted = CONVERSATIONS.map(({ name }) => [name, answers.get(name) ?? []] as const);
process.stdout.write(`${writeRecordedAnswers(Object.fromEntries(sorted))}\n`);
