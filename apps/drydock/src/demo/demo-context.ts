import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { yamlText } from '../yaml.ts';
import { machineApi } from './cluster.ts';
import { folderPath } from './inventory.ts';
import { type Stage, vcenterName } from './stage.ts';

/** Writes a config file whose context reaches the demo's cluster, its operator and its vCenter, so that no command needs a flag. Resolves to its path, for DRYDOCK_CONFIG. */
export async function writeDemoContext({ sandbox, operator }: Stage): Promise<string> {
  const { directory, kubeconfig, vcenter } = sandbox;
  const path = join(directory, 'drydock.yaml');
  const vcenterPasswordFile = join(directory, 'vcenter.password');
  await writeFile(vcenterPasswordFile, vcenter.password, { mode: 0o600 });
  const context = {
    ...{ name: 'demo', kubeconfig, leaseNamespace: machineApi },
    ...{ vcenter: `${vcenterName}=${vcenter.url}`, vcenterUsername: vcenter.user, vcenterPasswordFile },
    ...{ vcenterCa: vcenter.ca, folder: folderPath },
    ...(operator === undefined ? {} : { operator: operator.url() }),
  };
  await writeFile(path, yamlText({ 'current-context': 'demo', contexts: [context] }), { mode: 0o600 });
  return path;
}
