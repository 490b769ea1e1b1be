import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Sandbox, startSandbox, withoutRealServers } from '@drydock/sandbox';
import {
  CONVERSATIONS,
  createObjectServer,
  embeddedSpeaker,
  play,
  recordedAnswers,
  type Speaker,
  type Spoken,
  startWebhookDouble,
  type WebhookDouble,
  wireSpeaker,
} from '@drydock/sandbox/testing';
import { CEL_CASES, type CelCases } from './support/cel-cases.ts';

// The real API server is asked what the recording says, and what no recording could hold: each case of CEL's functions, on both servers at once.

/** The minor version of the sandbox's server. */
const MINOR = 34;
const CASES = CEL_CASES.filter(({ since }) => since <= MINOR);

let sandbox: Sandbox;
let webhooks: WebhookDouble;
let real: Speaker & AsyncDisposable;

const skip = withoutRealServers('the embedded ones are held to them');

before(async () => {
  if (skip !== false) return;
  sandbox = await startSandbox();
  webhooks = await startWebhookDouble();
  real = wireSpeaker(sandbox.admin);
});
after(async () => {
  await webhooks?.[Symbol.asyncDispose]();
  await real?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

suite('the recording is what the real server says', { concurrency: true, skip }, () => {
  for (const [at, conversation] of CONVERSATIONS.entries()) {
    test(conversation.name, async () => {
      const { era = 'E2' } = conversation;
      await using other = era === 'E2' ? undefined : await startSandbox({ era });
      await using speak = wireSpeaker((other ?? sandbox).admin);
      const said = await play(conversation, speak, `again-${at}`, webhooks.places);
      const recorded = recordedAnswers()[conversation.name] ?? [];
      for (const [line, answer] of said.entries()) assert.deepEqual(answer, recorded[line], `line ${line}`);
      assert.equal(said.length, recorded.length);
    });
  }
});

const GROUP = 'cel.drydock.dev';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function withValue(rule: string): string {
  return rule.replaceAll(/(?<![\w.])self\b/g, 'self.value');
}

function definitionOf({ schema, rules }: CelCases, plural: string): object {
  const node = (rule: string): object => ({
    type: 'object',
    properties: { value: schema },
    'x-kubernetes-validations': [{ rule: withValue(rule) }],
  });
  const properties = Object.fromEntries(rules.map((rule, at) => [`r${at}`, node(rule)]));
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: { group: GROUP, names: { kind: `K${plural}`, plural }, scope: 'Cluster', versions },
  };
}

/** By rule: that it is false, or cannot be evaluated. */
function verdicts({ body }: Spoken): Readonly<Record<string, string>> {
  const { causes = [] } = (body as { readonly details?: { readonly causes?: readonly Cause[] } }).details ?? {};
  // `assert.deepEqual` does not care for the order.
  return Object.fromEntries(
    causes.map(({ field, message }) => [field, message.includes('failed rule') ? 'false' : 'broken']),
  );
}

interface Cause {
  readonly field: string;
  readonly message: string;
}

async function eventually(speak: Speaker, path: string): Promise<void> {
  for (let left = 200; left > 0; left -= 1) {
    const { code } = await speak({ method: 'GET', path });
    if (code === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(`GET ${path} never succeeded`);
}

test('each rule is true, false or broken on both servers alike', { skip }, async () => {
  await using embedded = createObjectServer();
  const speakers = [real, embeddedSpeaker(embedded)];
  const plurals = CASES.map((_cases, at) => `cases${at}`);
  for (const speak of speakers) {
    for (const [at, cases] of CASES.entries()) {
      const made = await speak({ method: 'POST', path: DEFINITIONS, body: definitionOf(cases, plurals[at] ?? '') });
      assert.equal(made.code, 201, JSON.stringify(made.body));
    }
    for (const plural of plurals) await eventually(speak, `/apis/${GROUP}/v1/${plural}`);
  }
  let asked = 0;
  for (const [at, { rules, values }] of CASES.entries()) {
    const plural = plurals[at] ?? '';
    for (const value of values) {
      const spec = Object.fromEntries(rules.map((_rule, index) => [`r${index}`, { value }]));
      const body = { apiVersion: `${GROUP}/v1`, kind: `K${plural}`, metadata: { name: 'asked' }, spec };
      const line = { method: 'POST', path: `/apis/${GROUP}/v1/${plural}?dryRun=All`, body };
      const [theirs, ours] = await Promise.all(speakers.map(async (speak) => verdicts(await speak(line))));
      assert.deepEqual(ours, theirs, `${plural} on ${JSON.stringify(value)}`);
      asked += rules.length;
    }
  }
  assert.ok(asked > 1000, `only ${asked} rules were asked`);
});
