import type { Secret } from '@drydock/api';
import type { Credentials, PasswordVersion } from '@drydock/vsphere';
import { WatchError } from '../errors.ts';

/** On the Secret: another text is the word of a person to try the password again, although it was refused. */
export const LOGIN_NOW_ANNOTATION = 'drydock.dev/login-now';

/** Tells the passwords of a Secret from those that it had before, without telling anything of them. `name` is the Secret's. */
export function passwordVersion({ metadata }: Secret, name: string): PasswordVersion {
  const asked = metadata.annotations?.[LOGIN_NOW_ANNOTATION];
  return {
    origin: `Secret ${name}`,
    id: `${metadata.uid ?? ''}/${metadata.resourceVersion ?? ''}`,
    ...(asked === undefined ? {} : { asked }),
  };
}

/**
 * User and password of a vCenter: keys `<server>.username` and `<server>.password` as OpenShift has them, else `username` and `password` as vm-operator has them. `name` is
 * the Secret's, for the error (`CredentialsMissing`).
 */
export function credentialsOf(secret: Secret | undefined, server: string, name: string): Credentials {
  if (secret === undefined) throw new WatchError('CredentialsMissing', `there is no secret ${name}`);
  for (const prefix of [`${server}.`, '']) {
    const user = decoded(secret, `${prefix}username`);
    const password = decoded(secret, `${prefix}password`);
    if (user !== '' && password !== '') return { user, password, version: passwordVersion(secret, name) };
  }
  throw new WatchError(
    'CredentialsMissing',
    `secret ${name} has neither ${server}.username and ${server}.password nor username and password`,
  );
}

function decoded(secret: Secret, key: string): string {
  return Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
}
