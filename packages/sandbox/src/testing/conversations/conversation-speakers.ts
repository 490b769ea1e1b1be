import { Agent, request } from 'undici';
import type { Credentials } from '../../api.ts';
import type { ObjectServer } from '../../embedded/apiserver/contract.ts';
import type { Speaker } from './conversation-player.ts';

const ADMIN = { username: 'sandbox-admin', groups: ['system:masters', 'system:authenticated'] };
const JSON_TYPE = 'application/json';

/** Speaks to the objects half of an embedded server, without a wire. */
export function embeddedSpeaker(server: ObjectServer): Speaker {
  return async ({ method, path, body, type }) => {
    const answer = await server.answer({
      method,
      path,
      ...(body === undefined ? {} : { body, contentType: type ?? JSON_TYPE }),
      accept: JSON_TYPE,
      agent: 'drydock',
      user: ADMIN,
      signal: new AbortController().signal,
    });
    return {
      code: answer.code,
      body: JSON.parse(JSON.stringify(answer.body)) as unknown,
      warnings: answer.warnings ?? [],
    };
  };
}

/** Speaks to a server over its wire. */
export function wireSpeaker(as: Credentials): Speaker & AsyncDisposable {
  const dispatcher = new Agent({ connect: { ca: as.ca, cert: as.certificate, key: as.privateKey } });
  const speak: Speaker = async ({ method, path, body, type }) => {
    const response = await request(`${as.url}${path}`, {
      dispatcher,
      method: method as 'GET',
      headers: {
        accept: JSON_TYPE,
        'user-agent': 'drydock/1',
        ...(body === undefined ? {} : { 'content-type': type ?? JSON_TYPE }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    return { code: response.statusCode, body: parsed(text), warnings: warningsOf(response.headers['warning']) };
  };
  return Object.assign(speak, { [Symbol.asyncDispose]: () => dispatcher.destroy() });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function warningsOf(header: string | string[] | undefined): readonly string[] {
  const all = header === undefined ? [] : Array.isArray(header) ? header : [header];
  return all.flatMap((one) =>
    [...one.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((match) => JSON.parse(`"${match[1] ?? ''}"`) as string),
  );
}
