import { shownText } from '@drydock/api/text';
import { ApiError } from '../errors.ts';

/** What a field may hold: a list is of one shape, a mapping of fields; `*` stands for any field. Fields that are not named may hold anything. */
export type Shape = 'text' | 'flag' | readonly [Shape] | { readonly [field: string]: Shape };

/** Of the entries of `clusters`, `users` and `contexts`. */
export const SHAPES: Readonly<Record<'clusters' | 'users' | 'contexts', Shape>> = {
  clusters: {
    server: 'text',
    'tls-server-name': 'text',
    'insecure-skip-tls-verify': 'flag',
    'certificate-authority': 'text',
    'certificate-authority-data': 'text',
    'proxy-url': 'text',
    extensions: [{ name: 'text' }],
  },
  users: {
    token: 'text',
    tokenFile: 'text',
    username: 'text',
    password: 'text',
    'client-certificate': 'text',
    'client-certificate-data': 'text',
    'client-key': 'text',
    'client-key-data': 'text',
    as: 'text',
    'as-uid': 'text',
    'as-groups': ['text'],
    'as-user-extra': { '*': ['text'] },
    exec: {
      apiVersion: 'text',
      command: 'text',
      args: ['text'],
      env: [{ name: 'text', value: 'text' }],
      installHint: 'text',
      interactiveMode: 'text',
      provideClusterInfo: 'flag',
    },
    'auth-provider': { name: 'text' },
  },
  contexts: { cluster: 'text', user: 'text', namespace: 'text' },
};

/**
 * The value without what is null, which counts as absent. Throws Kubeconfig for a value of another type, as kubectl does: a flag that is text would
 * be taken for true, and a number has lost its leading zeros. `where` names the entry, if it is in one; the value is never quoted, since it may be a secret.
 */
export function shaped(value: unknown, shape: Shape, action: string, where: string, path = ''): unknown {
  const refuse = (said: string): never => {
    const what = [where, path === '' && where !== '' ? 'it' : shownText(path)].filter((part) => part !== '').join(': ');
    throw new ApiError({ code: 'Kubeconfig', action, said: `${what} is not ${said}` });
  };
  if (shape === 'text')
    return typeof value === 'string' ? value : refuse(typeof value === 'object' ? 'text' : 'text; put it in quotes');
  if (shape === 'flag') return typeof value === 'boolean' ? value : refuse('true or false, without quotes');
  if (isList(shape)) {
    if (!Array.isArray(value)) return refuse('a list');
    return value.map((item: unknown, at) => shaped(item, shape[0], action, where, `${path}[${at}]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('a mapping');
  const fields: [string, unknown][] = [];
  for (const [name, field] of Object.entries(value)) {
    if (field === null) continue;
    const of = Object.hasOwn(shape, name) ? shape[name] : shape['*'];
    const at = path === '' ? name : `${path}.${name}`;
    fields.push([name, of === undefined ? field : shaped(field, of, action, where, at)]);
  }
  return Object.fromEntries(fields);
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}
