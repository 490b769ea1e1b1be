import type { Unmet } from './unmet.ts';

/** How far a release has come until it may be applied. The first step that is not done is told. */
export interface Attempt {
  /** Why its image could not be had; undefined where it was. */
  readonly retrieval?: string;
  /** undefined: nobody has looked yet. */
  readonly signature?: Signed;
  /** Why it cannot be read to its last line. */
  readonly load?: string;
  /** What it says of itself; undefined: not read yet. */
  readonly version?: string;
  readonly unmet: readonly Unmet[];
}

/** What became of the search for a signature. */
export interface Signed {
  readonly verified: boolean;
  /** Why not. */
  readonly why?: string;
  /** Whoever owns it said that it needs no signature. */
  readonly waived?: true;
}

/** What is accepted although something speaks against it. */
export interface Consent {
  /** Everything that can be accepted. */
  readonly force: boolean;
  /** By name: `Signature`, a precondition, `Rollback/CLASS:DEFINITION…` or the beginning of one up to a colon. */
  readonly risks: readonly string[];
}

/** Steps of an acceptance, as reasons of the condition ReleaseAccepted while it is False. */
export type AcceptanceStep = 'RetrievePayload' | 'LoadPayload' | 'VerifyPayloadVersion' | 'PreconditionChecks';

/** Whether a release may be applied. */
export type Acceptance =
  | {
      readonly accepted: true;
      readonly verified: boolean /** What was accepted, in words; '' where nothing had to be. */;
      readonly acceptedRisks: string;
      readonly warnings: readonly string[];
    }
  | { readonly accepted: false; readonly step: AcceptanceStep; readonly message: string };

/** Characters of the words about accepted risks. */
const MAX_RISKS = 4_000;
/** The name by which a missing signature is accepted. */
export const SIGNATURE = 'Signature';

/**
 * Judges an attempt. Force and consent let pass a missing signature and preconditions, each with its words in `acceptedRisks`; never a payload that cannot be read, one that says another version than
 * was asked for, nor what is final.
 */
export function accept(attempt: Attempt, wanted: { readonly version?: string }, consent: Consent): Acceptance {
  const refused = (step: AcceptanceStep, message: string): Acceptance => ({ accepted: false, step, message });
  const { retrieval, signature, load, version, unmet } = attempt;
  if (retrieval !== undefined) return refused('RetrievePayload', retrieval);
  if (signature === undefined) return refused('RetrievePayload', 'Its signature has not been looked for yet.');
  const unsigned =
    signature.verified || signature.waived === true
      ? undefined
      : `The release cannot be verified: ${signature.why ?? 'no signature was found'}`;
  const risks: string[] = [];
  if (unsigned !== undefined) {
    if (!consents(consent, SIGNATURE)) return refused('RetrievePayload', unsigned);
    risks.push(unsigned);
  }
  if (load !== undefined) return refused('LoadPayload', load);
  if (version === undefined) return refused('LoadPayload', 'It has not been read yet.');
  if (wanted.version !== undefined && wanted.version !== version)
    return refused(
      'VerifyPayloadVersion',
      `The image holds the release ${version}, not ${wanted.version} as was asked for. Ask for ${version}, or for another image.`,
    );
  const stopping = unmet.filter((one) => one.blocking && (one.final === true || !consents(consent, one.name)));
  if (stopping.length > 0) return refused('PreconditionChecks', stopping.map(unmetText).join(' '));
  risks.push(...unmet.filter(({ blocking }) => blocking).map(unmetText));
  const text = risks.join(' ');
  return {
    accepted: true,
    verified: signature.verified,
    acceptedRisks: text.length <= MAX_RISKS ? text : `${text.slice(0, MAX_RISKS - 1)}…`,
    warnings: unmet.filter(({ blocking }) => !blocking).map(unmetText),
  };
}

/** Whether a name is accepted: itself, or a beginning of it that ends before a colon. A finding is accepted by its own name alone, not with all of its precondition. */
function consents({ force, risks }: Consent, name: string): boolean {
  return (
    force || risks.some((risk) => risk !== '' && (risk === name || (risk.includes('/') && name.startsWith(`${risk}:`))))
  );
}

function unmetText({ name, reason, message }: Unmet): string {
  return `${name} (${reason}): ${message}`;
}
