import type { X509Certificate } from 'node:crypto';
import { shownText } from '@drydock/api/text';
import { orUndefined } from '../errors.ts';
import { rfc3339 } from '../status/conditions.ts';
import type { StubDistrust, StubTrust } from '../stub-authority.ts';
import { addressText, type Presented } from './machine-config-server.ts';
import type { StubSource } from './stub-source.ts';

/** The authorities that the cluster publishes for machine-config-server; or why they are not known, as a clause. */
export type Published =
  | { readonly kind: 'published'; readonly in: string; readonly authorities: readonly X509Certificate[] }
  | { readonly kind: 'unknown'; readonly why: string };

/** What a verdict on a stub is made from. */
export interface StubEvidence {
  /** Name of its Secret, with the namespace. */
  readonly secret: string;
  readonly source: StubSource;
  readonly presented: Presented;
  readonly published: Published;
  readonly now: Date;
}

/** An authority that has less time than this (ms) says so. */
const SOON_MS = 30 * 86_400_000;

/**
 * The certificate that the server presents decides, where it can be seen. Else what the cluster publishes does: the server's authority is one of those, so a stub that trusts all of them trusts it, and one that
 * trusts none does not. A stub that trusts some of them may be either.
 *
 * ```text
 *  presented   verified ─► True     refused ─► False     unseen ─┐
 *  published                      all trusted ─► True     none ─► False     some, or not known ─► Unknown
 * ```
 */
export function judgeStub(evidence: StubEvidence): StubTrust {
  const { secret, source, presented, now } = evidence;
  const { authorities, unread } = source;
  const valid = authorities.filter((one) => isValid(one, now));
  const stub = `the stub in secret ${secret}`;
  const address = addressText(source.url);
  if (presented.kind === 'verified')
    return trusted(`${stub} trusts the certificate that ${address} presents`, valid, now);
  if (authorities.length > 0 && valid.length === 0 && unread === undefined) {
    const last = Math.max(...authorities.map((one) => one.validToDate.getTime()));
    const when = last <= now.getTime() ? `since ${rfc3339(new Date(last))}` : `yet, or any more`;
    const what =
      authorities.length === 1
        ? 'the only certificate authority'
        : `each of the ${authorities.length} certificate authorities`;
    return distrust(
      'StubAuthorityExpired',
      `${what} of ${stub} is not valid ${when}: its machines cannot join`,
      secret,
    );
  }
  const incomplete = unread ?? (authorities.length === 0 ? 'it names no certificate authority' : undefined);
  if (presented.kind === 'refused' && incomplete === undefined) {
    if (!presented.untrusted)
      return {
        ...{ status: 'False', reason: 'ServerCertificateInvalid' },
        message: `the certificate that ${address} presents is wrong (${presented.why}): machines with ${stub} cannot join`,
        nextStep: `have machine-config-server get another certificate: oc adm ocp-certificates regenerate-machine-config-server-serving-cert`,
      };
    const message = `${address} presents a certificate of ${presented.issuer}, which no certificate authority of ${stub} vouches for (${presented.why}): its machines cannot join`;
    return distrust('StubAuthorityOutdated', message, secret);
  }
  return byPublished(evidence, valid, incomplete);
}

function byPublished(
  { secret, source, presented, published, now }: StubEvidence,
  valid: readonly X509Certificate[],
  incomplete: string | undefined,
): StubTrust {
  const stub = `the stub in secret ${secret}`;
  const unknown = (why: string): StubTrust => ({
    ...{ status: 'Unknown', reason: 'StubAuthorityUnknown' },
    message: `whether ${stub} trusts machine-config-server is not known: ${why}`,
  });
  const seen =
    presented.kind === 'unseen'
      ? `its certificate could not be seen (${presented.why})`
      : `${addressText(source.url)} presents a certificate of ${presented.kind === 'refused' ? presented.issuer : ''}`;
  if (published.kind === 'unknown') return unknown(`${seen}, and ${published.why}`);
  const live = published.authorities.filter((one) => isValid(one, now));
  if (live.length === 0) return unknown(`${seen}, and ${published.in} has no authority that is valid now`);
  if (incomplete !== undefined) return unknown(`${incomplete}; ${seen}`);
  const missing = live.filter((one) => !valid.some((own) => isSame(own, one)));
  if (missing.length === 0) {
    const what = live.length === 1 ? 'the authority' : `all ${live.length} authorities`;
    return trusted(`${stub} trusts ${what} that ${published.in} has for machine-config-server`, valid, now);
  }
  const names = missing.slice(0, 3).map(nameOf).join(', ');
  if (missing.length < live.length || missing.some((one) => valid.some((own) => isRelated(own, one))))
    return {
      ...{ status: 'Unknown', reason: 'StubAuthorityIncomplete' },
      message: `${stub} lacks ${missing.length} of the ${live.length} authorities that ${published.in} has for machine-config-server (${names}), and ${seen}`,
      nextStep: correcting(secret),
    };
  const message = `${stub} trusts none of the authorities that ${published.in} has for machine-config-server (${names}): its machines cannot join`;
  return distrust('StubAuthorityOutdated', message, secret);
}

function trusted(message: string, valid: readonly X509Certificate[], now: Date): StubTrust {
  const last = Math.max(...valid.map((one) => one.validToDate.getTime()));
  if (valid.length === 0 || last - now.getTime() > SOON_MS)
    return { status: 'True', reason: 'StubAuthorityTrusted', message };
  return {
    ...{ status: 'True', reason: 'StubAuthorityExpiresSoon' },
    message: `${message}; the last of its authorities expires at ${rfc3339(new Date(last))}`,
    nextStep: 'renew the authority: docs/runbooks/DrydockStubAuthority.md',
  };
}

function distrust(reason: StubDistrust, message: string, secret: string): StubTrust {
  return { status: 'False', reason, message, nextStep: correcting(secret) };
}

function correcting(secret: string): string {
  return `put the authorities of machine-config-server into key userData of secret ${secret}: docs/runbooks/DrydockStubAuthority.md`;
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  return validFromDate.getTime() <= now.getTime() && now.getTime() < validToDate.getTime();
}

/** Whether two are the same authority, also where one is a renewal of the other with the same key. */
function isSame(a: X509Certificate, b: X509Certificate): boolean {
  if (a.fingerprint256 === b.fingerprint256) return true;
  // A certificate may be well-formed and have a key that nobody can read.
  return a.subject === b.subject && orUndefined(() => keyOf(a) === keyOf(b)) === true;
}

/** Whether one of them signed the other: then a chain may lead from one to the other that cannot be seen here. */
function isRelated(a: X509Certificate, b: X509Certificate): boolean {
  return isSignedBy(a, b) || isSignedBy(b, a);
}

function isSignedBy(one: X509Certificate, authority: X509Certificate): boolean {
  return orUndefined(() => one.checkIssued(authority) && one.verify(authority.publicKey)) === true;
}

function keyOf({ publicKey }: X509Certificate): string {
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
}

function nameOf({ subject, validTo }: X509Certificate): string {
  return `${shownText((subject ?? 'no name').replaceAll('\n', ', '))}, until ${validTo}`;
}
