import { quotedPhrase } from '@drydock/api/text';
import { type Clock, systemClock } from '@drydock/kube';
import { type CloudAnswer, type CloudHttps, invalidAnswer, quoted } from '../cloud/https.ts';
import { type AwsKeys, FORM, signedHeaders } from './signature.ts';
import { childOf, readXml, textAt, type XmlElement, XmlInvalid } from './xml.ts';

/** One call of an API that takes forms and answers in XML (Query protocol). */
export interface QueryCall {
  readonly service: 'ec2' | 'sts';
  readonly region: string;
  readonly url: string;
  /** Of the API. */
  readonly version: string;
  readonly name: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Without them the call is not signed. */
  readonly keys?: AwsKeys;
  /** See `CloudRequest.ca`. */
  readonly ca?: string | undefined;
  /** For errors. */
  readonly action: string;
  readonly signal: AbortSignal;
}

/** What a service says. */
export type QueryAnswer =
  | { readonly kind: 'answer'; readonly root: XmlElement }
  /** It refused; `code` is '' where it does not say which. */
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly message: string };

/** Codes that come with 4xx as well as with 5xx and mean "later" (EC2 API reference, error codes; STS, common errors). */
const LATER: ReadonlySet<string> = new Set([
  ...['RequestLimitExceeded', 'Throttling', 'ThrottlingException', 'RequestThrottled', 'RequestThrottledException'],
  ...['ServiceUnavailable', 'Unavailable', 'InternalError', 'InternalFailure', 'IDPCommunicationError'],
]);

/** Sends it. Rejects as {@link CloudHttps.ask} does, and where the answer is none of the API. */
export async function query(
  call: QueryCall,
  { https, clock = systemClock }: { readonly https: CloudHttps; readonly clock?: Clock },
): Promise<QueryAnswer> {
  const { url, service, region, action, signal, ca } = call;
  const body = new URLSearchParams({ Action: call.name, Version: call.version, ...call.parameters }).toString();
  const signed =
    call.keys === undefined ? {} : signedHeaders({ url, body, service, region, at: clock.date() }, call.keys);
  const answer = await https.ask({
    ...{ method: 'POST', url, body, action, signal, ca },
    headers: { accept: 'text/xml', 'content-type': FORM, ...signed },
    passing: (refusal) => refusal.status >= 400 && LATER.has(refusedIn(refusal).code),
  });
  if (answer.status !== 200) return refusedIn(answer);
  const { host } = new URL(url);
  let root: XmlElement;
  try {
    root = readXml(answer.text);
  } catch (error) {
    if (error instanceof XmlInvalid) throw invalidAnswer(host, action, `the answer is no XML: ${error.message}`);
    throw error;
  }
  if (root.name !== `${call.name}Response`) throw invalidAnswer(host, action, `the answer is none to ${call.name}`);
  return { kind: 'answer', root };
}

/** EC2: `Response/Errors/Error`; the others: `ErrorResponse/Error`. */
function refusedIn({ status, text }: CloudAnswer): Extract<QueryAnswer, { readonly kind: 'refused' }> {
  let root: XmlElement | undefined;
  try {
    root = readXml(text);
  } catch (error) {
    if (!(error instanceof XmlInvalid)) throw error;
  }
  const error = childOf(childOf(root, 'Errors') ?? root, 'Error');
  const said = textAt(error, 'Message');
  const message = said === undefined ? `HTTP ${status}` : quoted(said);
  return { kind: 'refused', status, code: quotedPhrase(textAt(error, 'Code') ?? ''), message };
}
