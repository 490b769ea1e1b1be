import { readFileSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';
import type { Layer, TrustSettings } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that govc reads, and the one of ours, as a layer. GOVC_CERTIFICATE, sessions on disk and the like have no counterpart here. */
export function environmentLayer(
  env: Environment,
  read: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): Layer {
  const one = (name: string): string | undefined => (env[name] === '' ? undefined : env[name]);
  const secret = (name: string): string | undefined => {
    const value = one(name);
    return value === undefined ? undefined : secretOf(value, read);
  };
  const files = (name: string): readonly string[] => (one(name) ?? '').split(delimiter).filter((file) => file !== '');
  const ca = files('GOVC_TLS_CA_CERTS');
  const knownHosts = files('GOVC_TLS_KNOWN_HOSTS');
  const trust: TrustSettings = {
    ...(ca.length === 0 ? {} : { ca }),
    ...(knownHosts.length === 0 ? {} : { knownHosts }),
    ...(['1', 'true'].includes((one('GOVC_INSECURE') ?? '').toLowerCase()) ? { insecure: true } : {}),
  };
  const fields = {
    url: one('GOVC_URL'),
    username: secret('GOVC_USERNAME'),
    password: secret('GOVC_PASSWORD'),
    datacenter: one('GOVC_DATACENTER'),
    datastore: one('GOVC_DATASTORE'),
    folder: one('GOVC_FOLDER'),
    resourcePool: one('GOVC_RESOURCE_POOL'),
    cluster: one('GOVC_CLUSTER'),
    host: one('GOVC_HOST'),
    network: one('GOVC_NETWORK'),
    // Ours: the text of a key file, or its absolute path.
    markKey: secret('DRYDOCK_MARK_KEY'),
  };
  const said = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return { origin: 'environment', ...said, trust };
}

/** govc reads user and password from a file where the value is the name of one, as secrets of containers are. Here only an absolute path is such a name. */
function secretOf(value: string, read: (path: string) => string): string {
  if (!isAbsolute(value)) return value;
  try {
    return read(value).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error;
    return value;
  }
}
