/** Whether the authorities of a stub vouch for the server that its machine gets its configuration from. */
export interface StubTrust {
  /** False: its machines cannot join. Unknown: nobody could tell. */
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason:
    | 'StubAuthorityTrusted'
    | 'StubAuthorityExpiresSoon'
    | 'StubAuthorityExpired'
    | 'StubAuthorityOutdated'
    | 'StubAuthorityIncomplete'
    | 'StubAuthorityUnknown'
    | 'ServerCertificateInvalid';
  /** A sentence that names the Secret. */
  readonly message: string;
  readonly nextStep?: string;
}

/** Reasons of a stub whose machines cannot join. */
export type StubDistrust = Extract<
  StubTrust['reason'],
  'StubAuthorityExpired' | 'StubAuthorityOutdated' | 'ServerCertificateInvalid'
>;

/** See {@link StubDistrust}. */
export const stubDistrusts: ReadonlySet<string> = new Set([
  'StubAuthorityExpired',
  'StubAuthorityOutdated',
  'ServerCertificateInvalid',
] satisfies readonly StubDistrust[]);

/** A {@link StubTrust} that machines cannot join with. */
export interface Untrusted extends StubTrust {
  readonly status: 'False';
  readonly reason: StubDistrust;
}

/** Whether machines cannot join with a stub. */
export function isUntrusted(trust: StubTrust | undefined): trust is Untrusted {
  return trust?.status === 'False';
}
