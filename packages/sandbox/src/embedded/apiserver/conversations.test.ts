import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { play } from '../../testing/conversations/conversation-player.ts';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import { CONVERSATIONS } from '../../testing/conversations/conversation-table.ts';
import { recordedAnswers } from '../../testing/conversations/recorded-answers.ts';
import { startWebhookDouble } from '../../testing/conversations/webhook-double.ts';
import { createObjectServer } from './objects.ts';

suite('the embedded API server says what the real one was recorded to say', () => {
  for (const conversation of CONVERSATIONS) {
    test(conversation.name, async (t) => {
      await using webhooks = await startWebhookDouble();
      await using server = createObjectServer({ era: conversation.era ?? 'E2' });
      const said = await play(conversation, embeddedSpeaker(server), 'embedded-1', webhooks.places, false);
      const recorded = recordedAnswers()[conversation.name] ?? [];
      const lines = conversation.lines.filter(({ quiet }) => quiet !== true);
      assert.equal(recorded.length, lines.length + 1, 'the recording is of another conversation: record it again');
      for (const [at, answer] of said.entries()) {
        const { method = 'POST', path = 'the namespace' } = lines[at - 1] ?? {};
        await t.test(`${at} ${method} ${path}`, () => assert.deepEqual(answer, recorded[at]));
      }
    });
  }
});
