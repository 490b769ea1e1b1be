import { oneLine } from '@drydock/api/text';
import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import { type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import { type HeldToken, heldToken, refusedToken, type Tokens, tokensBy } from '../cloud/tokens.ts';
import { nonEmpty, object, parsedJson } from '../observe/json.ts';
import type { AzureCloud } from './azure-cloud.ts';
import type { AzureCredentials } from './credentials.ts';

/** Credentials, and the cloud that knows them. */
export interface AzureAccount {
  readonly cloud: AzureCloud;
  readonly credentials: AzureCredentials;
  /** Another one after each change of either. */
  readonly version: string;
}

const HOUR_S = 3600;
/** Longest text of an answer that is quoted. */
const QUOTED = 300;

/** Has no token yet. Tokens are asked for by the client credentials grant of OAuth 2.0 (RFC 6749 §4.4; with a projected token, RFC 7523 §2.2). */
export function azureTokens(options: {
  readonly https: CloudHttps;
  /** Reads a projected token. */
  readonly readToken?: (file: string) => Promise<string>;
  readonly clock?: Clock;
}): Tokens<AzureAccount> {
  const { https, readToken = projectedToken, clock = systemClock } = options;
  return tokensBy(make, clock);

  async function make({ cloud, credentials }: AzureAccount, signal: AbortSignal): Promise<HeldToken> {
    const { tenant, client, proof } = credentials;
    let proven: Readonly<Record<string, string>>;
    try {
      proven =
        proof.kind === 'secret'
          ? { client_secret: proof.secret }
          : { client_assertion_type: ASSERTION, client_assertion: await readToken(proof.file) };
    } catch (error) {
      return refusedToken(
        credentials,
        'a projected token',
        error instanceof Error ? error.message : 'it cannot be read',
      );
    }
    const action = `get a token for client ${client}`;
    const form = { grant_type: 'client_credentials', client_id: client, scope: cloud.scope, ...proven };
    const { status, text } = await https.ask({
      ...{ method: 'POST', url: `https://${cloud.login}/${tenant}/oauth2/v2.0/token`, action, signal },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
    const body = parsedJson(text);
    if (body === undefined && status < 400) throw invalidAnswer(cloud.login, action, 'the answer is not JSON');
    const answer = object(body);
    if (status >= 400)
      return refusedToken(
        credentials,
        'valid credentials',
        `${cloud.login} refused to ${action}: ${saidIn(answer, status)}`,
      );
    const token = nonEmpty(answer['access_token']);
    if (token === undefined) throw invalidAnswer(cloud.login, action, 'the answer has no token in it');
    return heldToken(token, Number(answer['expires_in'] ?? HOUR_S) * 1000);
  }
}

/** RFC 7523 §2.2. */
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** `{error, error_description}`, whose first line is for people; the others have ids of the request. */
function saidIn(answer: Readonly<Record<string, unknown>>, status: number): string {
  const description = nonEmpty(answer['error_description'])?.split(/[\r\n]/)[0];
  const text = [nonEmpty(answer['error']), description].filter((one) => one !== undefined).join(', ');
  return text === '' ? `HTTP ${status}` : oneLine(text).slice(0, QUOTED);
}
