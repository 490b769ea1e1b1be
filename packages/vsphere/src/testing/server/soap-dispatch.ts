import { child, childText, descend, elements, referenceOf, type XmlElement } from '../../xml/xml.ts';
import { XmlSyntaxError } from '../../xml/xml-characters.ts';
import { parseXml, TREE_LIMITS } from '../../xml/xml-tree.ts';
import { type LoginDesk, SOAP_COOKIE } from './login-policy.ts';
import type { MethodCall } from './method-call.ts';
import { retrieve } from './property-retrieval.ts';
import { serviceContent, userSession } from './service-objects.ts';
import { runMethod } from './soap-methods.ts';
import { found, notAuthenticated, refusal } from './soap-refusal.ts';
import { type WaitContext, waitForUpdates } from './update-wait.ts';
import { asRefusal } from './vcenter-world.ts';
import { render } from './vim-values.ts';
import { faultAnswer, soapAnswer, type WireAnswer, type WireCall, XML_TYPE } from './wire-call.ts';

/** The server bounds the length of a request before it is parsed. */
const LIMITS = { ...TREE_LIMITS, total: Number.POSITIVE_INFINITY };

/** The call in an envelope; undefined: there is none. */
export function soapCallIn(text: string): XmlElement | undefined {
  try {
    return elements(descend(parseXml(text, LIMITS), 'Body'))[0];
  } catch (error) {
    if (error instanceof XmlSyntaxError) return undefined;
    throw error;
  }
}

/** Answers a SOAP call. What goes wrong is a fault. */
export async function answerSoap(desk: LoginDesk, waits: WaitContext, call: WireCall): Promise<WireAnswer> {
  const { method, body } = call;
  try {
    if (body === undefined || method === '') throw refusal('InvalidRequest', {}, 'The request is no SOAP call.');
    if (method === 'WaitForUpdatesEx' || method === 'WaitForUpdates') return await answerWait(desk, waits, call, body);
    return answerMethod(desk, call, body);
  } catch (error) {
    return faultAnswer(asRefusal(error));
  }
}

async function answerWait(desk: LoginDesk, waits: WaitContext, call: WireCall, body: XmlElement): Promise<WireAnswer> {
  if (call.session === undefined) throw notAuthenticated();
  const { index } = waits;
  const bytes = await waitForUpdates(waits, call.session, body, call.response).finally(() => {
    // A session was in use for as long as it waited.
    if (call.session !== undefined) call.session.lastCall = Date.now();
  });
  let needed = index.now;
  for (const session of desk.state.sessions.values())
    for (const collector of session.collectors.values()) needed = Math.min(needed, collector.needs);
  index.forgetBefore(needed);
  return bytes === undefined ? soapAnswer(call.method, '') : { status: 200, headers: XML_TYPE, bytes };
}

function answerMethod(desk: LoginDesk, call: WireCall, body: XmlElement): WireAnswer {
  const { state } = desk;
  const { method, session } = call;
  if (method === 'RetrieveServiceContent') return soapAnswer(method, render('returnval', serviceContent(state)));
  if (method === 'Login') return login(desk, call, body);
  if (session === undefined) {
    if (method !== 'RetrievePropertiesEx') throw notAuthenticated();
    return soapAnswer(method, retrieve(state, undefined, body));
  }
  if (method === 'Logout') {
    desk.logout(session);
    return soapAnswer(method, '');
  }
  const self = found(referenceOf(child(body, '_this')), undefined);
  const running: MethodCall = { state, session, method, self, body };
  const answer = soapAnswer(method, runMethod(running));
  return running.task === undefined ? answer : { ...answer, task: running.task };
}

function login(desk: LoginDesk, { request, session, method }: WireCall, body: XmlElement): WireAnswer {
  // A session that is alive logs in once.
  if (session !== undefined) desk.counts.refused += 1;
  const [user = '', password = ''] = [childText(body, 'userName'), childText(body, 'password')];
  const opened = session === undefined ? desk.login(request, 'soap', user, password) : undefined;
  if (opened === undefined)
    throw refusal('InvalidLogin', {}, 'Cannot complete login due to an incorrect user name or password.');
  // The quotes belong to the value.
  const cookie = `${SOAP_COOKIE}="${opened.id}"; Path=/; HttpOnly; Secure; SameSite=Lax`;
  return soapAnswer(method, render('returnval', userSession(opened)), { ...XML_TYPE, 'set-cookie': cookie });
}
