import type { IncomingHttpHeaders } from 'node:http';
import { refusalOf } from './access-check.ts';
import { PlainFailure } from './api-failure.ts';
import type { UserInfo } from './objects.ts';
import type { Authorizer } from './rbac-authorizer.ts';
import { groupsOf } from './service-account-tokens.ts';

const EXTRA_PREFIX = 'impersonate-extra-';
const AUTHENTICATED = 'system:authenticated';
const UNAUTHENTICATED = 'system:unauthenticated';

/** In whose name the user acts: the user itself, or whom its headers name. Throws 403 for what it may not impersonate. */
export function impersonated(
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  user: UserInfo,
  authorizer: Authorizer,
  path: string,
): UserInfo {
  const username = textOf(headers['impersonate-user']);
  const groups = valuesOf(rawHeaders, (name) => name === 'impersonate-group').map(([, value]) => value);
  const extras = valuesOf(rawHeaders, (name) => name.startsWith(EXTRA_PREFIX)).map(
    ([name, value]) => [decoded(name.slice(EXTRA_PREFIX.length)), value] as const,
  );
  const uid = textOf(headers['impersonate-uid']);
  if (username === '') {
    if (groups.length === 0 && extras.length === 0 && uid === '') return user;
    const asked = [
      ...groups.map((group) => `{Group  ${group}    }`),
      ...extras.map(([key, value]) => `{UserExtra  ${value}  authentication.k8s.io/v1  ${key}}`),
      ...(uid === '' ? [] : [`{UID  ${uid}  authentication.k8s.io/v1  }`]),
    ];
    throw new PlainFailure(
      500,
      `Internal Server Error: ${JSON.stringify(path)}: requested [${asked.join(' ')}] without impersonating a user\n`,
    );
  }
  const check = (group: string, resource: string, name: string, subresource = '', namespace = ''): void => {
    const asked = { verb: 'impersonate', resource: { group, resource, subresource, namespace, name } };
    const refusal = refusalOf(authorizer, user, asked);
    if (refusal !== undefined) throw refusal;
  };
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  if (namespace !== undefined && account !== undefined) check('', 'serviceaccounts', account, '', namespace);
  else check('', 'users', username);
  for (const group of groups) check('', 'groups', group);
  for (const [key, value] of extras) check('authentication.k8s.io', 'userextras', value, key);
  if (uid !== '') check('authentication.k8s.io', 'uids', uid);
  const given = groups.length === 0 && namespace !== undefined ? groupsOf(namespace) : groups;
  const everybody = username === 'system:anonymous' ? UNAUTHENTICATED : AUTHENTICATED;
  const known = given.includes(UNAUTHENTICATED) || given.includes(everybody);
  const byKey = Object.groupBy(extras, ([key]) => key);
  const extra = Object.fromEntries(
    Object.entries(byKey).map(([key, values]) => [key, (values ?? []).map(([, value]) => value)]),
  );
  return { username, groups: known ? given : [...given, everybody], ...(uid === '' ? {} : { uid }), extra };
}

function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? (value[0] ?? '') : (value ?? '');
}

/** Headers in the order of the wire: Node joins repeated ones, and a group may have a comma. */
function valuesOf(raw: readonly string[], wanted: (name: string) => boolean): readonly (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    if (wanted(name)) found.push([name, raw[at + 1] ?? '']);
  }
  return found;
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
