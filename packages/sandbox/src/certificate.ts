import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import * as der from './der.ts';

/** A certificate and its private key, both PEM. */
export interface Identity {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Whom a client certificate names: Kubernetes reads the user from CN and the groups from O. */
export interface Subject {
  readonly user: string;
  readonly groups?: readonly string[];
}

/** A certificate authority that lives as long as the sandbox; its key never leaves the process. */
export interface Authority {
  /** PEM of the CA's own certificate. */
  readonly certificate: string;
  /** For servers: `hosts` are DNS names and IPv4 addresses. */
  issueServer(hosts: readonly string[]): Identity;
  issueClient(subject: Subject): Identity;
}

const ECDSA_SHA256 = der.sequence(der.oid('1.2.840.10045.4.3.2'));
const YEAR_MS = 365 * 24 * 3_600_000;

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const newKey = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' });

const attribute = (type: string, value: string): Buffer => der.set(der.sequence(der.oid(type), der.utf8(value)));

const distinguishedName = (commonName: string, organizations: readonly string[]): Buffer =>
  der.sequence(...organizations.map((name) => attribute('2.5.4.10', name)), attribute('2.5.4.3', commonName));

function extension(id: string, critical: boolean, value: Uint8Array): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.yes()] : []), der.octetString(value));
}

const keyIdentifier = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();

const pem = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;

/** When certificates are valid. */
export interface Validity {
  readonly from: Date;
  readonly until: Date;
}

interface ToSign {
  readonly validity: Validity;
  readonly subject: Buffer;
  readonly subjectKey: KeyObject;
  readonly issuer: Buffer;
  readonly issuerKey: KeyPair;
  readonly extensions: readonly Buffer[];
}

// RFC 5280 §4.1.
function signCertificate(to: ToSign): string {
  const toBeSigned = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(randomBytes(16)),
    ECDSA_SHA256,
    to.issuer,
    der.sequence(der.utcTime(to.validity.from), der.utcTime(to.validity.until)),
    to.subject,
    to.subjectKey.export({ type: 'spki', format: 'der' }),
    der.explicit(
      3,
      der.sequence(
        ...to.extensions,
        extension('2.5.29.14', false, der.octetString(keyIdentifier(to.subjectKey))),
        extension('2.5.29.35', false, der.sequence(der.implicit(0, keyIdentifier(to.issuerKey.publicKey)))),
      ),
    ),
  );
  const signature = sign('sha256', toBeSigned, to.issuerKey.privateKey);
  return pem(der.sequence(toBeSigned, ECDSA_SHA256, der.bitString(signature)));
}

const keyUsage = (bits: number, unused: number): Buffer =>
  extension('2.5.29.15', true, der.bitString(Buffer.from([bits]), unused));

const extendedUsage = (purpose: string): Buffer => extension('2.5.29.37', false, der.sequence(der.oid(purpose)));

const alternativeNames = (hosts: readonly string[]): Buffer =>
  extension(
    '2.5.29.17',
    false,
    der.sequence(
      ...hosts.map((host) =>
        isIPv4(host) ? der.implicit(7, Buffer.from(host.split('.').map(Number))) : der.implicit(2, Buffer.from(host)),
      ),
    ),
  );

/** A PEM private key alone, in SEC 1 form: what the API server signs service account tokens with. */
export function newSigningKey(): string {
  return newKey().privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

/** A year from now; the start lies an hour back for clients whose clock is a little behind. */
function oneYear(): Validity {
  return { from: new Date(Date.now() - 3_600_000), until: new Date(Date.now() + YEAR_MS) };
}

/** A fresh CA with ECDSA P-256 keys. It and everything it issues are valid for one year, or as `validity` says. */
export function createAuthority(commonName: string, validity: Validity = oneYear()): Authority {
  const issuer = distinguishedName(commonName, []);
  const issuerKey = newKey();
  const issue = (subject: Buffer, extensions: readonly Buffer[]): Identity => {
    const key = newKey();
    return {
      certificate: signCertificate({ subject, subjectKey: key.publicKey, issuer, issuerKey, extensions, validity }),
      privateKey: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  };
  const digitalSignature = keyUsage(0x80, 7);
  return {
    certificate: signCertificate({
      validity,
      subject: issuer,
      subjectKey: issuerKey.publicKey,
      issuer,
      issuerKey,
      // CA:TRUE; keyCertSign, cRLSign and digitalSignature.
      extensions: [extension('2.5.29.19', true, der.sequence(der.yes())), keyUsage(0x86, 1)],
    }),
    issueServer: (hosts) =>
      issue(distinguishedName(hosts[0] ?? 'localhost', []), [
        digitalSignature,
        extendedUsage('1.3.6.1.5.5.7.3.1'),
        alternativeNames(hosts),
      ]),
    issueClient: (subject) =>
      issue(distinguishedName(subject.user, subject.groups ?? []), [
        digitalSignature,
        extendedUsage('1.3.6.1.5.5.7.3.2'),
      ]),
  };
}
