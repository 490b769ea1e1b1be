import type { Clock } from '@drydock/kube';
import type { Answer, Unverified } from '../cloud/availability.ts';
import { type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import type { Place } from '../cloud/lookup.ts';
import { type TokenRefused, withToken } from '../cloud/tokens.ts';
import { query } from './query.ts';
import type { SessionAccount, Sessions } from './sessions.ts';
import type { AwsKeys } from './signature.ts';
import { childOf, itemsOf, textAt, type XmlElement } from './xml.ts';

/** What is read of an image (Image of the EC2 API, 2016-11-15). */
export interface Ec2Image {
  readonly id: string;
  /** pending, available, failed, deregistered, disabled and others. */
  readonly state: string;
  readonly stateReason: string | undefined;
  readonly owner: string;
  readonly name: string;
  readonly description: string;
  /** x86_64, arm64 and others. */
  readonly architecture: string;
  /** legacy-bios, uefi or uefi-preferred; undefined where the image does not say. */
  readonly bootMode: string | undefined;
  readonly created: string;
  readonly deprecated: string | undefined;
}

/** What EC2 says of a type of instances. */
export type TypeAnswer =
  | { readonly kind: 'found'; readonly bootModes: ReadonlySet<string> }
  | { readonly kind: 'absent' }
  | Unverified;

/** One region, by one version of credentials. */
export interface Account extends Place, SessionAccount {
  readonly region: string;
  /** Address of EC2. */
  readonly ec2: string;
}

/** Reads images and types of instances. All reject as {@link CloudHttps.ask} does. */
export interface Ec2Client {
  /** At most 100 ids. One that is not there takes nothing from the others. */
  readonly images: (
    account: Account,
    ids: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, Answer<Ec2Image>>>;
  /** The available images of a product of the marketplace. */
  readonly products: (
    account: Account,
    product: { readonly id: string; readonly architecture: string },
    signal: AbortSignal,
  ) => Promise<Answer<readonly Ec2Image[]>>;
  /** At most 100 names. */
  readonly types: (
    account: Account,
    names: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, TypeAnswer>>;
}

type Described =
  | { readonly kind: 'pages'; readonly roots: readonly XmlElement[] }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | Unverified;

const VERSION = '2016-11-15';
/** More pages than any account has are a server that has no last one. */
const MOST_PAGES = 20;
/** Codes by which the keys themselves are refused (EC2 API reference, error codes). */
const KEYS_REFUSED: ReadonlySet<string> = new Set([
  ...['AuthFailure', 'ExpiredToken', 'ExpiredTokenException', 'InvalidClientTokenId', 'InvalidAccessKeyId'],
  ...['MissingAuthenticationToken', 'SignatureDoesNotMatch', 'RequestExpired', 'UnrecognizedClientException'],
]);
/** Codes for a right that is not there. */
const FORBIDDEN: ReadonlySet<string> = new Set(['UnauthorizedOperation', 'AccessDenied', 'AccessDeniedException']);

/** A client of DescribeImages and DescribeInstanceTypes. */
export function ec2Client(parts: {
  readonly https: CloudHttps;
  readonly sessions: Sessions;
  readonly clock?: Clock;
}): Ec2Client {
  function page(
    account: Account,
    name: string,
    parameters: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Described> {
    const { region, ec2: url, ca } = account;
    const action = `${name} in ${region}`;
    const call = { service: 'ec2', region, url, version: VERSION, name, parameters, action, signal, ca } as const;
    const ask = async (keys: AwsKeys): Promise<Described | TokenRefused> => {
      const answer = await query({ ...call, keys }, parts);
      if (answer.kind === 'answer') return { kind: 'pages', roots: [answer.root] };
      const { status, code, message } = answer;
      if (FORBIDDEN.has(code)) return { kind: 'unverified', missing: `permission ec2:${name}`, message };
      if (KEYS_REFUSED.has(code)) return { kind: 'tokenRefused', message };
      if (code === 'OptInRequired')
        return { kind: 'unverified', missing: `an account that has enabled region ${region}`, message };
      if (code === '') throw invalidAnswer(new URL(url).host, action, `HTTP ${status}: ${message}`);
      return { kind: 'refused', code, message };
    };
    return withToken(parts.sessions, account, 'EC2', ask, signal);
  }

  async function describe(
    account: Account,
    name: string,
    parameters: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Described> {
    const roots: XmlElement[] = [];
    let next: string | undefined;
    do {
      const more = next === undefined ? {} : { NextToken: next };
      const answer = await page(account, name, { ...parameters, ...more }, signal);
      if (answer.kind !== 'pages') return answer;
      roots.push(...answer.roots);
      next = textAt(answer.roots[0], 'nextToken');
      if (roots.length > MOST_PAGES) {
        const { host } = new URL(account.ec2);
        throw invalidAnswer(host, `${name} in ${account.region}`, `there are more than ${MOST_PAGES} pages`);
      }
    } while (next !== undefined);
    return { kind: 'pages', roots };
  }

  /** All names at once; where EC2 refuses the call for some of them, it is asked about the others again. */
  async function each<A>(
    names: readonly string[],
    how: {
      readonly ask: (names: readonly string[]) => Promise<Described>;
      readonly read: (roots: readonly XmlElement[]) => ReadonlyMap<string, A>;
      readonly absent: (refusal: string | undefined) => A;
      /** Codes that are of some of the names, each of which the message has. */
      readonly ofNames: ReadonlySet<string>;
      readonly refused: (code: string, message: string) => Error;
    },
  ): Promise<Map<string, A | Unverified>> {
    const answers = new Map<string, A | Unverified>();
    if (names.length === 0) return answers;
    const answer = await how.ask(names);
    if (answer.kind === 'unverified') for (const name of names) answers.set(name, answer);
    else if (answer.kind === 'pages') {
      const found = how.read(answer.roots);
      for (const name of names) answers.set(name, found.get(name) ?? how.absent(undefined));
    } else if (!how.ofNames.has(answer.code)) throw how.refused(answer.code, answer.message);
    else if (names.length === 1) answers.set(names[0] ?? '', how.absent(`${answer.code}: ${answer.message}`));
    else {
      const said = new Set(answer.message.match(/[\w.-]+/g));
      const bad = names.filter((name) => said.has(name));
      const parts =
        bad.length === 0 || bad.length === names.length
          ? [names.slice(0, names.length >> 1), names.slice(names.length >> 1)]
          : [names.filter((name) => !said.has(name))];
      if (parts.length === 1)
        for (const name of bad) answers.set(name, how.absent(`${answer.code}: ${answer.message}`));
      for (const part of parts) for (const [name, one] of await each(part, how)) answers.set(name, one);
    }
    return answers;
  }

  const refusedBy =
    (account: Account, name: string) =>
    (code: string, message: string): Error =>
      invalidAnswer(new URL(account.ec2).host, `${name} in ${account.region}`, `${code}: ${message}`);

  return {
    images: (account, ids, signal) =>
      each<Answer<Ec2Image>>(ids, {
        // With ids there are no pages to ask for. Without these two, images near their end are left out.
        ask: (some) => {
          const also = { IncludeDeprecated: 'true', IncludeDisabled: 'true' };
          return describe(account, 'DescribeImages', { ...numbered('ImageId', some), ...also }, signal);
        },
        read: (roots) => new Map(imagesIn(roots).map((image) => [image.id, { kind: 'found', found: image }])),
        absent: (refusal) => ({ kind: 'absent', refusal }),
        ofNames: IMAGE_REFUSED,
        refused: refusedBy(account, 'DescribeImages'),
      }),
    products: async (account, { id, architecture }, signal) => {
      const parameters = {
        ...{ 'Owner.1': 'aws-marketplace', MaxResults: '1000' },
        ...{ 'Filter.1.Name': 'name', 'Filter.1.Value.1': `*${id}*` },
        ...{ 'Filter.2.Name': 'architecture', 'Filter.2.Value.1': architecture },
        ...{ 'Filter.3.Name': 'state', 'Filter.3.Value.1': 'available' },
      };
      const answer = await describe(account, 'DescribeImages', parameters, signal);
      if (answer.kind === 'unverified') return answer;
      if (answer.kind === 'refused') throw refusedBy(account, 'DescribeImages')(answer.code, answer.message);
      return { kind: 'found', found: imagesIn(answer.roots) };
    },
    types: (account, names, signal) =>
      each<TypeAnswer>(names, {
        ask: (some) => describe(account, 'DescribeInstanceTypes', numbered('InstanceType', some), signal),
        read: typesIn,
        absent: () => ({ kind: 'absent' }),
        ofNames: TYPE_REFUSED,
        refused: refusedBy(account, 'DescribeInstanceTypes'),
      }),
  };
}

const IMAGE_REFUSED: ReadonlySet<string> = new Set([
  ...['InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable', 'InvalidAMIID.Malformed'],
]);
const TYPE_REFUSED: ReadonlySet<string> = new Set(['InvalidInstanceType']);

/** Longest text of an image that is kept; names and descriptions have 255 characters at most. */
const LONGEST = 512;

function numbered(name: string, values: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(values.map((value, at) => [`${name}.${at + 1}`, value]));
}

function imagesIn(roots: readonly XmlElement[]): readonly Ec2Image[] {
  const images = roots
    .flatMap((root) => itemsOf(root, 'imagesSet'))
    .map((item) => {
      const text = (...path: readonly string[]): string | undefined => textAt(item, ...path)?.slice(0, LONGEST);
      return {
        ...{ id: text('imageId') ?? '', state: text('imageState') ?? '', owner: text('imageOwnerId') ?? '' },
        ...{ name: text('name') ?? '', description: text('description') ?? '' },
        ...{
          architecture: text('architecture') ?? '',
          bootMode: text('bootMode'),
          created: text('creationDate') ?? '',
        },
        ...{ deprecated: text('deprecationTime'), stateReason: text('stateReason', 'message') },
      };
    });
  // They are kept for a while, and a part of a text keeps all of it.
  return structuredClone(images);
}

function typesIn(roots: readonly XmlElement[]): ReadonlyMap<string, TypeAnswer> {
  const types = new Map<string, TypeAnswer>();
  for (const item of roots.flatMap((root) => itemsOf(root, 'instanceTypeSet'))) {
    const modes = childOf(item, 'supportedBootModes')?.children.map(({ text }) => text.trim()) ?? [];
    types.set(textAt(item, 'instanceType') ?? '', { kind: 'found', bootModes: new Set(modes) });
  }
  return structuredClone(types);
}
