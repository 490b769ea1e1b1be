import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the config file is, and whether somebody named it: then it must be there. */
export interface ConfigPath {
  readonly path: string;
  readonly named: boolean;
}

/** As the flag names it, else `DRYDOCK_CONFIG`, else in the user's folder. */
export function configPath(flag: string | undefined, env: Environment): ConfigPath {
  const named = [flag, env['DRYDOCK_CONFIG']].find((one) => one !== undefined && one !== '');
  if (named !== undefined) return { path: resolve(named), named: true };
  const base = env['XDG_CONFIG_HOME'];
  const folder = base === undefined || base === '' ? join(homedir(), '.config') : base;
  return { path: join(folder, 'drydock', 'config.yaml'), named: false };
}
