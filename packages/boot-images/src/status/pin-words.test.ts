import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pinWords } from './pin-words.ts';

const now = new Date('2026-01-01T09:00:00Z');
const subject = { set: 'ms/a', now, facts: { pin: { pin: { release: '9.6', by: 'alice' } } } } as Parameters<
  typeof pinWords
>[2];
const lifts = 'drydock image history ms/a shows what can be gone back to, drydock image release ms/a lifts the pin';

test('FIND-25 that a pin can be lifted is said once, by the words of the pin, and only where its image is what fails', () => {
  const next = (reason: string, nextStep?: string): string | undefined =>
    pinWords({ reason, message: 'it failed', ...(nextStep === undefined ? {} : { nextStep }) }, 'failed', subject)
      .nextStep;
  assert.equal(next('PinnedImageGone'), lifts);
  assert.equal(next('ImageWithdrawn'), lifts);
  assert.equal(next('PinnedImageUnproven', 'adopt it'), `adopt it; or ${lifts}`);
  assert.equal(next('CredentialsMissing', 'mend the Secret'), 'mend the Secret');
  assert.equal(next('VimUnreachable'), undefined);
});
