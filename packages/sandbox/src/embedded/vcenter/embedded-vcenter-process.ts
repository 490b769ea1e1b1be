/** The embedded vCenter: a process of its own, which says where it listens in one line and ends with its standard input. */

import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { startVCenterServer, type VCenterServer, type VCenterServerOptions } from '@drydock/vsphere/testing/server';
import type { VCenterModel } from '../../vcenter.ts';
import { CallSwitch } from './call-switch.ts';
import type { VCenterProcessOptions } from './embedded-vcenter.ts';
import { populate } from './populate-model.ts';
import { serveSwitchboard } from './switchboard-server.ts';
import { modelState } from './vcenter-inventory-model.ts';

/** Ports that every consumer can name: OpenShift's Infrastructure takes none above 32767. */
const PORTS = [10_240, 32_768] as const;
const TRIES = 100;

/** Starts it on a free port among those. */
async function startOnLowPort(options: VCenterServerOptions): Promise<VCenterServer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startVCenterServer({ ...options, port: randomInt(...PORTS) });
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'EADDRINUSE' || tries === TRIES) throw error;
    }
  }
}

const [, , file = ''] = process.argv;
const { certificate, privateKey, user, password, modelFile, lockout } = JSON.parse(
  readFileSync(file, 'utf8'),
) as VCenterProcessOptions;
const model = modelFile === undefined ? {} : (JSON.parse(readFileSync(modelFile, 'utf8')) as VCenterModel);
const state = modelState(model);
const calls = new CallSwitch();
const server = await startOnLowPort({
  identity: { certificate, privateKey },
  ...{ state, user, password },
  ...{ intercept: calls.intercept, interceptTransfer: calls.interceptTransfer },
  lockoutAfter: lockout === true ? 5 : 0,
});
calls.server = server;
populate(server.state.world, model);
const switchboard = await serveSwitchboard(server, calls);
process.stdout.write(`${JSON.stringify({ url: server.url, switchboard, pid: process.pid })}\n`);

const end = (): void => process.exit(0);
process.stdin.on('end', end).on('error', end).resume();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
// One request that goes wrong is one request.
process.on('uncaughtException', (error) => process.stderr.write(`${error.stack ?? String(error)}\n`));
process.on('unhandledRejection', (error) => process.stderr.write(`${String(error)}\n`));
