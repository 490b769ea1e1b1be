import { readFile } from 'node:fs/promises';
import type { VCenterSandbox } from '@drydock/sandbox';
import { Agent, request } from 'undici';

/** A session by hand, for what the client under test has no call for. Disposal logs out. */
export interface RawVCenter extends AsyncDisposable {
  /** Posts one method with the XML of its arguments; gives the answer as text. Fails on a fault. */
  call(method: string, type: string, value: string, fields?: string): Promise<string>;
  /** Calls a `*_Task` method; resolves when the task has ended, fails when it failed. */
  task(method: string, type: string, value: string, fields?: string): Promise<void>;
  /** The property of an object as XML; '' where it is unset. */
  property(type: string, value: string, path: string): Promise<string>;
  /** Sessions whose idle time exceeds this end; those that are open keep what they had. */
  idleLimit(seconds: number): Promise<void>;
  /** Keys of all sessions that the server knows, this one included. */
  sessions(): Promise<readonly string[]>;
}

/** Where the simulator is, and as whom; `ca` is a file. */
type VCenterLogin = Pick<VCenterSandbox['vcenter'], 'url' | 'user' | 'password' | 'ca'>;

/** Logs in to the simulator. */
export async function rawVCenter({ vcenter }: { readonly vcenter: VCenterLogin }): Promise<RawVCenter> {
  const dispatcher = new Agent({ connect: { ca: await readFile(vcenter.ca, 'utf8') } });
  let cookie = '';
  const call: RawVCenter['call'] = async (method, type, value, fields = '') => {
    const body = `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><e:Body><${method} xmlns="urn:vim25"><_this type="${type}">${value}</_this>${fields}</${method}></e:Body></e:Envelope>`;
    const headers = { 'content-type': 'text/xml', ...(cookie === '' ? {} : { cookie }) };
    const response = await request(vcenter.url, { method: 'POST', dispatcher, headers, body });
    const [set] = [response.headers['set-cookie'] ?? []].flat();
    cookie = set?.split(';')[0] ?? cookie;
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`${method} on ${value}: ${text}`);
    return text;
  };
  const property: RawVCenter['property'] = async (type, value, path) => {
    const spec = `<specSet><propSet><type>${type}</type><pathSet>${path}</pathSet></propSet><objectSet><obj type="${type}">${value}</obj></objectSet></specSet><options/>`;
    const text = await call('RetrievePropertiesEx', 'PropertyCollector', 'propertyCollector', spec);
    return /<val[\s>][\s\S]*<\/val>/.exec(text)?.[0] ?? '';
  };
  await call(
    'Login',
    'SessionManager',
    'SessionManager',
    `<userName>${vcenter.user}</userName><password>${vcenter.password}</password>`,
  );
  return {
    call,
    property,
    async task(method, type, value, fields) {
      const [, id = ''] = /<returnval[^>]*>([^<]*)</.exec(await call(method, type, value, fields)) ?? [];
      for (;;) {
        const state = /success|error/.exec(await property('Task', id, 'info.state'))?.[0];
        if (state === 'success') return;
        if (state === 'error') throw new Error(`${method}: ${await property('Task', id, 'info.error')}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async idleLimit(seconds) {
      const option = `<changedValue xsi:type="OptionValue"><key>config.vmacore.soap.sessionTimeout</key><value xsi:type="xsd:string">${seconds}s</value></changedValue>`;
      await call('UpdateOptions', 'OptionManager', 'VpxSettings', option);
    },
    async sessions() {
      const list = await property('SessionManager', 'SessionManager', 'sessionList');
      return [...list.matchAll(/<key>([^<]*)<\/key>/g)].map(([, key = '']) => key);
    },
    async [Symbol.asyncDispose]() {
      await call('Logout', 'SessionManager', 'SessionManager').catch(() => undefined);
      await dispatcher.destroy();
    },
  };
}
