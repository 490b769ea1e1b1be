import { createHash, createHmac } from 'node:crypto';

/** Keys of an account of AWS, or of a session. */
export interface AwsKeys {
  readonly id: string;
  readonly secret: string;
  /** Of a session. */
  readonly token?: string;
}

/** A form that is posted to a service. */
export interface UnsignedForm {
  readonly url: string;
  readonly body: string;
  readonly service: string;
  readonly region: string;
  readonly at: Date;
}

/** The content type of a form, which is signed with it. */
export const FORM = 'application/x-www-form-urlencoded';

/**
 * The headers that make a POST of a form one of the owner of the keys: AWS Signature Version 4 (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
 * `host` is signed and not among them, as the connection sends it.
 */
export function signedHeaders(form: UnsignedForm, keys: AwsKeys): Readonly<Record<string, string>> {
  const { host, pathname } = new URL(form.url);
  const time = `${form.at.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')}`;
  const day = time.slice(0, 8);
  const sent: Readonly<Record<string, string>> = {
    'content-type': FORM,
    'x-amz-date': time,
    ...(keys.token === undefined ? {} : { 'x-amz-security-token': keys.token }),
  };
  const headers = Object.entries({ ...sent, host }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const names = headers.map(([name]) => name).join(';');
  const lines = headers.map(([name, value]) => `${name}:${value}\n`).join('');
  const canonical = ['POST', pathname, '', lines, names, sha256(form.body)].join('\n');
  const scope = `${day}/${form.region}/${form.service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [day, form.region, form.service, 'aws4_request'].reduce(hmac, Buffer.from(`AWS4${keys.secret}`));
  const signature = hmac(key, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...sent, authorization };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
