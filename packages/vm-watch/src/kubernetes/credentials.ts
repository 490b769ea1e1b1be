import type { Secret } from '@drydock/api';
import type { Credentials } from '@drydock/vsphere';
import { WatchError } from '../errors.ts';

/**
 * User and password of a vCenter: keys `<server>.username` and `<server>.password` as OpenShift has them, else `username` and `password` as vm-operator has them. `name` is
 * the Secret's, for the error (`CredentialsMissing`).
 */
export function credentialsOf(secret: Secret | undefined, server: string, name: string): Credentials {
  if (secret === undefined) throw new WatchError('CredentialsMissing', `there is no secret ${name}`);
  for (const prefix of [`${server}.`, '']) {
    const user = decoded(secret, `${prefix}username`);
    const password = decoded(secret, `${prefix}password`);
    if (user !== '' && password !== '') return { user, password };
  }
  throw new WatchError(
    'CredentialsMissing',
    `secret ${name} has neither ${server}.username and ${server}.password nor username and password`,
  );
}

function decoded(secret: Secret, key: string): string {
  return Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
}
