import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import type { Secret } from '@drydock/api';
import { ec2Client } from '../aws/client.ts';
import { type Ec2Look, ec2Look } from '../aws/lookup.ts';
import { awsSessions } from '../aws/sessions.ts';
import type { Availability } from '../cloud/availability.ts';
import { type CloudHttps, cloudHttps } from '../cloud/https.ts';
import { parseStream } from '../observe/stream.ts';
import type { PlatformInput } from '../platform.ts';
import { type FakeEc2, startEc2 } from './clouds/ec2.ts';
import { awsImage, awsInfrastructure, awsSecret, awsSet, awsStream, publishAmi, staticKeys } from './fake-aws.ts';

/** Where the token of our own is. */
export const tokenFile = '/var/run/secrets/openshift/serviceaccount/token';
/** What no message may have in it. */
export const awsSecrets: RegExp = /sEcReT|session\/secret|session\/\/token|projected\.subject/;

/** What is looked at, and by whom. */
export interface AskedOfAws {
  readonly secrets?: readonly Secret[];
  readonly ami?: string;
  readonly value?: Readonly<Record<string, unknown>>;
  readonly architecture?: string;
  readonly infrastructure?: PlatformInput['infrastructure'];
}

/** Looks at EC2 over its protocol. */
export interface AwsLookRig {
  readonly ec2: () => FakeEc2;
  /** One without a memory, which may read one token. */
  readonly newLook: () => Ec2Look;
  readonly inputOf: (asked: AskedOfAws) => PlatformInput;
  /** Whether the image of the stream can start. */
  readonly look: (asked?: AskedOfAws, looking?: Ec2Look) => Promise<Availability>;
  /** `missing: message` of a look that could not be had. */
  readonly missing: (asked: AskedOfAws) => Promise<string>;
}

/** For the tests of a file: a server with the image of the stream, the same for each of them. */
export function awsLookRig(hosts: readonly string[] = []): AwsLookRig {
  let ec2: FakeEc2;
  let https: CloudHttps;
  before(async () => {
    ec2 = await startEc2(hosts);
    https = cloudHttps({ ...ec2.options, bounds: { attempts: 1, exchangeMs: 20_000 } });
  });
  after(async () => {
    await https?.[Symbol.asyncDispose]();
    await ec2?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    for (const all of [ec2.regions, ec2.types, ec2.denied]) all.clear();
    Object.assign(ec2.how, { keysAccepted: true, pageSize: 1000 });
    ec2.fault = undefined;
    publishAmi(ec2, { id: awsImage });
    ec2.types.set('m6i.xlarge', { name: 'm6i.xlarge', bootModes: ['legacy-bios', 'uefi'] });
  });

  const newLook = (): Ec2Look => {
    const readToken = async (file: string): Promise<string> => {
      if (file !== tokenFile) throw new Error(`no token is projected at ${file}`);
      return ec2.subjectToken;
    };
    return ec2Look(ec2Client({ https, sessions: awsSessions({ https, readToken }) }));
  };
  const inputOf = (asked: AskedOfAws): PlatformInput => {
    const { secrets = [awsSecret(staticKeys(ec2))], value = {}, architecture = 'x86_64' } = asked;
    const set = awsSet('wk-a', undefined, value);
    const { infrastructure = awsInfrastructure } = asked;
    return {
      ...{ set, architecture, stream: parseStream(awsStream), infrastructure, cluster: 'c', installConfig: undefined },
      spec: set.spec?.template?.spec?.providerSpec?.value ?? {},
      secret: (namespace, name) =>
        secrets.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    };
  };
  const look = async (asked: AskedOfAws = {}, looking: Ec2Look = newLook()): Promise<Availability> => {
    const found = await looking.look(inputOf(asked), asked.ami ?? awsImage, 'us-east-1', {});
    // Nothing of a credential is in what is told.
    assert.doesNotMatch(JSON.stringify(found), awsSecrets);
    return found;
  };
  const missing = async (asked: AskedOfAws): Promise<string> => {
    const found = await look(asked);
    assert.ok(found.kind === 'unverified', JSON.stringify(found));
    return `${found.missing}: ${found.message}`;
  };
  return { ec2: () => ec2, newLook, inputOf, look, missing };
}
