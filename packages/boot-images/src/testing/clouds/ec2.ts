import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { CloudHttps } from '../../cloud/https.ts';
import { type CloudCall, type CloudReply, type CloudServer, startCloudServer } from './cloud-server.ts';
import { answerImages, answerTypes } from './ec2-images.ts';
import type { Ec2State, FakeAmi } from './ec2-state.ts';
import { ec2Error, stsError, xml } from './ec2-xml.ts';

export type { FakeAmi, FakeInstanceType } from './ec2-state.ts';
export { ec2Error } from './ec2-xml.ts';

/** EC2 on loopback. */
export interface FakeEc2 extends CloudServer, Ec2State {}

/** Regions that are there. */
export const fakeRegions: readonly string[] = ['us-east-1', 'us-west-2', 'eu-central-1'];

/** Starts it without an image. `hosts`: besides those of the regions. */
export async function startEc2(hosts: readonly string[] = []): Promise<FakeEc2> {
  const { state, answer } = fakeEc2();
  const usual = fakeRegions.flatMap((region) => [`ec2.${region}.amazonaws.com`, `sts.${region}.amazonaws.com`]);
  return Object.assign(await startCloudServer([...usual, ...hosts], answer), state);
}

/** The same without a network: what it answers to whom. */
export function fakeEc2(): { readonly state: Ec2State; readonly answer: (call: CloudCall) => CloudReply } {
  const sessions = new Map<string, { readonly secret: string; readonly token: string; readonly role: string }>();
  let made = 0;
  const state: Ec2State = {
    ...{ regions: new Map(), types: new Map(), denied: new Set(), asked: [] },
    ...{ account: '210987654321', subjectToken: 'projected.subject.token' },
    how: { pageSize: 1000, keysAccepted: true },
    keys: { id: 'AKIAEXAMPLEEXAMPLE00', secret: 'sEcReT/of+the/account/EXAMPLE/EXAMPLE00' },
    revoke: () => sessions.clear(),
    role: 'arn:aws:iam::210987654321:role/drydock',
    readerRole: 'arn:aws:iam::123456789012:role/reader',
    externalId: 'drydock-1',
  };

  /** Who signed a call; undefined where nobody did whom the server knows. */
  const signer = (call: CloudCall, service: string): string | undefined => {
    const [, id = '', scope = '', names = '', signature = ''] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(
        call.headers.authorization ?? '',
      ) ?? [];
    const session = sessions.get(id);
    const secret = session?.secret ?? (id === state.keys.id && state.how.keysAccepted ? state.keys.secret : undefined);
    if (secret === undefined || scope.split('/')[2] !== service) return undefined;
    if (session?.token !== call.headers['x-amz-security-token']) return undefined;
    const expected = Buffer.from(signatureOf(call, secret, scope, names), 'hex');
    return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? (session?.role ?? 'account') : undefined;
  };

  const session = (name: string, role: string): CloudReply => {
    made += 1;
    const [id, secret, token] = [`ASIAEXAMPLE${made}`, `session/secret+${made}`, `session//token+${made}=`];
    sessions.set(id, { secret, token, role });
    const expiration = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d{3}/, '');
    const keys = { AccessKeyId: id, SecretAccessKey: secret, SessionToken: token, Expiration: expiration };
    const user = { AssumedRoleId: 'AROAEXAMPLE:drydock', Arn: `${role.replace(':role/', ':assumed-role/')}/drydock` };
    const body = { [`${name}Result`]: { Credentials: keys, AssumedRoleUser: user } };
    return xml(`${name}Response`, 'https://sts.amazonaws.com/doc/2011-06-15/', {
      ...body,
      ResponseMetadata: { RequestId: 'c6104cbe-af31-11e0-8154-cbc7ccf896c7' },
    });
  };

  // docs.aws.amazon.com/STS/latest/APIReference: AssumeRoleWithWebIdentity, AssumeRole.
  const sts = (call: CloudCall, form: URLSearchParams): CloudReply => {
    const [name, role] = [form.get('Action') ?? '', form.get('RoleArn') ?? ''];
    if (name === 'AssumeRoleWithWebIdentity') {
      if (form.get('WebIdentityToken') !== state.subjectToken)
        return stsError(400, 'InvalidIdentityToken', 'The ID Token provided is not a valid JWT.');
      if (role !== state.role) return stsError(403, 'AccessDenied', `Not authorized to perform sts:${name}`);
      return session(name, role);
    }
    const who = signer(call, 'sts');
    if (who === undefined)
      return stsError(403, 'InvalidClientTokenId', 'The security token included in the request is invalid.');
    if (role !== state.readerRole || form.get('ExternalId') !== state.externalId)
      return stsError(
        403,
        'AccessDenied',
        `User: ${who} is not authorized to perform: sts:${name} on resource: ${role}`,
      );
    return session(name, role);
  };

  const answer = (call: CloudCall): CloudReply => {
    const form = new URLSearchParams(call.body);
    const [service = '', region = ''] = call.host.split('.');
    if (service === 'sts') return sts(call, form);
    const name = form.get('Action') ?? '';
    const who = signer(call, 'ec2');
    if (who === undefined)
      return ec2Error(401, 'AuthFailure', 'AWS was not able to validate the provided access credentials');
    if (form.get('Version') !== '2016-11-15' || !['DescribeImages', 'DescribeInstanceTypes'].includes(name))
      return ec2Error(400, 'InvalidAction', `The action ${name} is not valid for this web service.`);
    const named = [...form].filter(([key]) => /^(?:ImageId|InstanceType)\.\d+$/.test(key)).map(([, value]) => value);
    state.asked.push(`${region}: ${[name, ...named].join(' ')}`);
    if (state.denied.has(name))
      return ec2Error(
        403,
        'UnauthorizedOperation',
        `You are not authorized to perform this operation. User: arn:aws:sts::${state.account}:assumed-role/drydock is not authorized to perform: ec2:${name} because no identity-based policy allows the ec2:${name} action`,
      );
    const images = state.regions.get(region) ?? new Map<string, FakeAmi>();
    return name === 'DescribeImages' ? answerImages(form, images, state) : answerTypes(form, state.types);
  };
  return { state, answer };
}

/** A conversation with it without a network. */
export function ec2Https(answer: (call: CloudCall) => CloudReply): CloudHttps {
  return {
    ask: async ({ method, url, headers = {}, body = '' }) => {
      const { host, pathname, searchParams } = new URL(url);
      const call = { host, method, path: pathname, query: searchParams, headers: { host, ...headers }, body };
      const { status, body: text } = answer(call);
      return { status, headers: {}, text: String(text) };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html, from what arrived. */
function signatureOf(call: CloudCall, secret: string, scope: string, names: string): string {
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  const request = [
    ...[call.method, call.path, call.query.toString()],
    ...names.split(';').map((name) => `${name}:${String(call.headers[name]).trim()}`),
    ...['', names, digest(call.body)],
  ].join('\n');
  let key: Buffer | string = `AWS4${secret}`;
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  const text = `AWS4-HMAC-SHA256\n${String(call.headers['x-amz-date'])}\n${scope}\n${digest(request)}`;
  return createHmac('sha256', key).update(text).digest('hex');
}
