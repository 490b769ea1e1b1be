import { Namespace, Secret } from '@drydock/api';
import { shownText } from '@drydock/api/text';
import { type Client, ifFound } from '@drydock/kube';
import { labelSelector } from '../decide/selection.ts';
import { BootImageError } from '../errors.ts';
import { nonEmpty, object } from '../observe/json.ts';
import { type ClusterApiObject, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';

/** A login for a vCenter. */
export interface Identity {
  readonly user: string;
  readonly password: string;
  /** Where it was read: a login that was refused is tried again when that changes. */
  readonly secret: Secret;
}

/** Where identities are read. */
export interface IdentitySources {
  readonly client: Pick<Client, 'get'>;
  readonly served: Pick<ServedKinds, 'of'>;
  /** Namespace in which the provider keeps the Secrets of its VSphereClusterIdentities. */
  readonly providerNamespace: string;
}

/** Between a vCenter's name and the login with which it is spoken to; it stands in neither. */
const WITH = '#';
/** A host with its port, as tenants write it into their templates. */
const HOST = /^(?=.{1,260}$)(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** What a Secret, or any other object of Kubernetes, may be called. */
const NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

/**
 * A vCenter with the login that a VSphereCluster gives, as one word: `vc1#Secret/team-a/login`. Who may use one login has nothing done with another's, also on the same vCenter. Throws, in
 * words, where the cluster gives none, or one that its namespace may not use.
 */
export async function serverWithLogin(
  server: string,
  cluster: ClusterApiObject | undefined,
  { client, served }: IdentitySources,
): Promise<string> {
  const namespace = cluster?.metadata.namespace ?? '';
  const of = `vspherecluster ${namespace}/${cluster?.metadata.name ?? '(none)'}`;
  const ref = object(object(cluster?.spec)['identityRef']);
  const name = nonEmpty(ref['name']);
  if (cluster === undefined || name === undefined)
    throw missing(`${of} has no identityRef`, `name a Secret or a VSphereClusterIdentity in spec.identityRef of ${of}`);
  // Whoever could write the separator would choose among the logins of all.
  if (!HOST.test(server))
    throw missing(
      `${shownText(server)}, where machines of ${of} are made, is no host of a vCenter`,
      `name a host, as vc1.example.com, as server of ${of}, or of the zone or the template that names it`,
    );
  if (!NAME.test(name))
    throw missing(
      `the identityRef of ${of} has a name that is no name that a Secret can have`,
      `correct spec.identityRef.name of ${of}`,
    );
  if (ref['kind'] === 'Secret') return [server, `Secret/${namespace}/${name}`].join(WITH);
  const resource = served.of(INFRASTRUCTURE, 'VSphereClusterIdentity');
  if (ref['kind'] !== 'VSphereClusterIdentity' || resource === undefined)
    throw missing(`${of} has an identityRef of kind ${String(ref['kind'])}`, 'use Secret or VSphereClusterIdentity');
  const identity = await ifFound(client.get(resource, { name }));
  if (identity === undefined)
    throw missing(
      `${of} names vsphereclusteridentity ${name}, which is not there`,
      `create it, or correct spec.identityRef of ${of}`,
    );
  const selector = object(object(identity.spec)['allowedNamespaces'])['selector'];
  const { metadata } = await client.get(Namespace, { name: namespace });
  if (!labelSelector(selector as never)(metadata.labels ?? {}))
    throw missing(
      `vsphereclusteridentity ${name} does not allow namespace ${namespace}, in which ${of} is`,
      `allow it in spec.allowedNamespaces of vsphereclusteridentity ${name}`,
    );
  return [server, `VSphereClusterIdentity/${name}`].join(WITH);
}

/** The vCenter without the login. */
export function serverOf(word: string): string {
  return word.split(WITH, 1)[0] ?? word;
}

/** The login of such a word; undefined where it names none. */
export async function identityOf(word: string, sources: IdentitySources): Promise<Identity | undefined> {
  const [server = '', login, ...more] = word.split(WITH);
  if (login === undefined) return undefined;
  if (more.length > 0)
    throw missing(`${shownText(server)} is named with several logins`, 'name a host as the server of a vCenter');
  const { client, served, providerNamespace } = sources;
  const [kind = '', first = '', second = ''] = login.split('/');
  if (kind === 'Secret') return read(client, first, second, `a vspherecluster of namespace ${first}`);
  const resource = served.of(INFRASTRUCTURE, 'VSphereClusterIdentity');
  if (resource === undefined) throw missing(`VSphereClusterIdentity is not served`, 'install the vSphere provider');
  const identity = await client.get(resource, { name: first });
  const secret = nonEmpty(object(identity.spec)['secretName']) ?? '';
  return read(client, providerNamespace, secret, `vsphereclusteridentity ${first}`);
}

async function read(client: Pick<Client, 'get'>, namespace: string, name: string, of: string): Promise<Identity> {
  const secret = await ifFound(client.get(Secret, { namespace, name }));
  if (secret === undefined)
    throw missing(
      `${of} names secret ${namespace}/${name}, which is not there`,
      'create it with username and password',
    );
  const part = (key: string): string => {
    const value = secret.data?.[key] ?? '';
    if (value === '') throw missing(`secret ${namespace}/${name}, of ${of}, has no ${key}`, 'complete it');
    return Buffer.from(value, 'base64').toString('utf8');
  };
  return { user: part('username'), password: part('password'), secret };
}

function missing(message: string, nextStep: string): BootImageError {
  return new BootImageError('CredentialsMissing', message, { retriable: false, nextStep });
}
