import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from '@drydock/sandbox';
import { loginBudget } from '@drydock/vsphere';
import { UsageError } from './exit.ts';
import { connector } from './vcenters.ts';

const log = { info: () => undefined, warn: () => undefined };

test('flags that cannot be meant are usage errors, before anything is reached', async () => {
  using scratch = scratchFolder();
  const noPem = join(scratch.path, 'ca.pem');
  writeFileSync(noPem, 'no certificate');
  for (const [flags, said] of [
    [{ vcenterUrl: ['vc1'] }, /^--vcenter-url vc1: expected <server>=<url>, as /],
    [{ vcenterUrl: ['vc1=10.0.0.1'] }, /^--vcenter-url vc1=10\.0\.0\.1: expected <server>=<url>, as /],
    [{ vcenterPin: 'AB:CD' }, /^--vcenter-pin is no SHA-256 fingerprint/],
    [{ vcenterCa: join(scratch.path, 'missing') }, /^--vcenter-ca .*missing cannot be read: ENOENT/],
    [{ vcenterCa: noPem }, /^--vcenter-ca .*ca\.pem holds no PEM certificate$/],
  ] as const) {
    await assert.rejects(connector(flags, log, loginBudget()), (error: unknown) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, said);
      return true;
    });
  }
});
