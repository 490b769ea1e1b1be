import type { Agent } from 'node:https';
import type { Caller, MethodOptions, ObjectContent } from '../soap/call.ts';
import type { Clock } from '../soap/clock.ts';
import { checkOrder } from '../soap/schema.ts';
import type { MoRef } from '../vcenter.ts';
import type { XmlElement, XmlNode } from '../xml/xml.ts';
import { parseXml } from '../xml/xml-tree.ts';
import { writeXml } from '../xml/xml-writer.ts';

/** One call that reached the scripted caller: the body as it would be sent. */
export interface SeenCall {
  readonly method: string;
  readonly self: MoRef;
  readonly body: string;
  readonly options: MethodOptions | undefined;
}

/** What a scripted caller answers. */
export interface Script {
  /** The inside of `<MResponse>` as text; throw for a fault. Default: an empty response. */
  readonly answer?: (call: SeenCall) => string | undefined;
  /** Properties of an object as text of their `val` elements' content; undefined: it is gone. */
  readonly properties?: (ref: MoRef, paths: readonly string[]) => Readonly<Record<string, string>> | undefined;
  readonly clock?: Clock;
  readonly agent?: Agent;
  readonly baseUrl?: string;
}

const VIM = 'xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

/** A `Caller` without a server, for the layers above it. It checks the order of every body, as the real one does. */
export function scriptedCaller(script: Script): Caller & { readonly calls: readonly SeenCall[] } {
  const calls: SeenCall[] = [];
  const baseUrl = new URL(script.baseUrl ?? 'https://vcenter.example:8443/sdk');
  const parse = (name: string, inside: string): XmlElement => parseXml(`<${name} ${VIM}>${inside}</${name}>`);
  return {
    calls,
    server: baseUrl.host,
    baseUrl,
    login: (show) => show({ user: 'user', password: 'secret-word' }),
    clock: script.clock ?? { now: () => 0, sleep: async () => undefined },
    log: { info: () => undefined, warn: () => undefined },
    async call(method, self, body: readonly XmlNode[], options) {
      checkOrder(method, body);
      const text = body.map((node) => (typeof node === 'string' ? node : writeXml(node, 'urn:vim25'))).join('');
      const call = { method, self, body: text, options };
      calls.push(call);
      return parse(`${method}Response`, script.answer?.(call) ?? '');
    },
    content: async () => ({
      rootFolder: { type: 'Folder', value: 'group-d1' },
      propertyCollector: { type: 'PropertyCollector', value: 'propertyCollector' },
      sessionManager: { type: 'SessionManager', value: 'SessionManager' },
      ovfManager: { type: 'OvfManager', value: 'OvfManager' },
      about: { fullName: '', version: '', build: '', apiType: 'VirtualCenter', apiVersion: '', instanceUuid: '' },
    }),
    async retrieve(refs, _type, paths) {
      const found: ObjectContent[] = [];
      for (const ref of refs) {
        const properties = script.properties?.(ref, paths);
        if (properties === undefined) continue;
        const values = new Map(Object.entries(properties).map(([path, text]) => [path, parse('val', text)]));
        found.push({ ref, values, missing: [] });
      }
      return found;
    },
    waitForTask: async () => parse('info', '<state>success</state>'),
    httpsAgentFor: () => {
      if (script.agent === undefined) throw new TypeError('this scripted caller has no agent');
      return script.agent;
    },
  };
}
