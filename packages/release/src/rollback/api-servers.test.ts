import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type ApiErrorCode, type KubeClient } from '@drydock/kube';
import { everyServer, surveyServers } from './api-servers.ts';

const signal = new AbortController().signal;
const WIDGET = {
  group: 'shop.example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Cluster',
} as const;
const failing = (code: ApiErrorCode): ApiError => new ApiError({ code, action: 'list', said: 'no' });

/** An API server that shows one column. */
const server = (column: string): Pick<KubeClient, 'raw'> => ({
  raw: async () => ({ columnDefinitions: [{ name: column }] }) as never,
});
const broken = (code: ApiErrorCode): Pick<KubeClient, 'raw'> => ({
  raw: async () => {
    throw failing(code);
  },
});
/** Who is behind Service default/kubernetes. */
const slices = (addresses: readonly string[]): Pick<KubeClient, 'list'> =>
  ({
    async *list() {
      yield { endpoints: [{ addresses }], ports: [{ name: 'https', port: 6443 }] };
    },
  }) as never;

function clock() {
  let time = 0;
  const pass = (ms: number): void => {
    time += ms;
  };
  return { pass, now: () => time, date: () => new Date(time), sleep: async () => undefined };
}

test('RB-R96 each API server behind the Service is asked by itself, beside the one that answers at the usual address', async () => {
  const asked: string[] = [];
  const at = (address: string): Pick<KubeClient, 'raw'> => {
    asked.push(address);
    return server(address === 'https://10.0.0.1:6443' ? 'bridge' : 'narrow');
  };
  const columns = everyServer({ client: slices(['10.0.0.1', 'fd00::2']), own: server('narrow'), at, clock: clock() });
  assert.deepEqual(await columns(WIDGET, signal), [['narrow'], ['bridge'], ['narrow']]);
  assert.deepEqual(asked, ['https://10.0.0.1:6443', 'https://[fd00::2]:6443']);
});

test('RB-R96 a server that cannot be reached by itself is left out for a minute; one that answers with a failure is not', async () => {
  const time = clock();
  let tries = 0;
  let code: ApiErrorCode = 'Connection';
  const at = (): Pick<KubeClient, 'raw'> => {
    tries += 1;
    return broken(code);
  };
  const told: string[] = [];
  const onLeftOut = (address: string, error: ApiError): void => void told.push(`${address} ${error.code}`);
  const columns = everyServer({ client: slices(['10.0.0.1']), own: server('narrow'), at, onLeftOut, clock: time });
  for (let look = 0; look < 3; look += 1) assert.deepEqual(await columns(WIDGET, signal), [['narrow']]);
  assert.deepEqual([tries, told], [1, ['https://10.0.0.1:6443 Connection']], 'and is told');
  time.pass(60_000);
  code = 'Unavailable';
  await assert.rejects(columns(WIDGET, signal), { code: 'Unavailable' });
});

const FORBIDDEN = {
  list: () => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        throw new ApiError({ code: 'Forbidden', action: 'list EndpointSlices', said: 'no', status: 403 });
      },
    }),
  }),
} as unknown as Pick<KubeClient, 'list'>;

test('RB-R96 who goes a way from elsewhere is told which API servers cannot be asked from there, or that nobody knows who they are', async () => {
  const codes: Readonly<Record<string, ApiErrorCode>> = {
    'https://10.0.0.2:6443': 'Connection',
    'https://10.0.0.3:6443': 'Unavailable',
    'https://10.0.0.4:6443': 'Tls',
  };
  const at = (address: string): Pick<KubeClient, 'raw'> => {
    const code = codes[address];
    return code === undefined ? server('any') : broken(code);
  };
  const client = slices(['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']);
  const { servers, unheard } = await surveyServers({ client, at, signal });
  assert.deepEqual(
    [servers.length, unheard.map((one) => one.server)],
    [4, ['https://10.0.0.2:6443', 'https://10.0.0.4:6443']],
  );
  const blind = await surveyServers({ client, at: undefined, signal });
  assert.equal(blind.unheard.length, 4);
  const single = await surveyServers({ client: slices(['10.0.0.2']), at, signal });
  assert.deepEqual(single.unheard, [], 'a single one is the one that answers at the usual address');
  assert.match((await surveyServers({ client: FORBIDDEN, at, signal })).unknown ?? '', /list EndpointSlices/);
});

test('RB-R96 where nobody may read who the API servers are, or nobody may be asked by itself, the usual one is asked', async () => {
  const at = (): never => assert.fail('nobody else is asked');
  const own = server('narrow');
  assert.deepEqual(await everyServer({ client: FORBIDDEN, own, at, clock: clock() })(WIDGET, signal), [['narrow']]);
  const client = slices(['10.0.0.1']);
  assert.deepEqual(await everyServer({ client, own, at: undefined, clock: clock() })(WIDGET, signal), [['narrow']]);
});
