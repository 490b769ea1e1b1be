import type { Answer } from '../cloud/availability.ts';
import { type CloudAnswer, type CloudHttps, invalidAnswer, quoted } from '../cloud/https.ts';
import { type TokenRefused, type Tokens, withToken } from '../cloud/tokens.ts';
import { isObject, list, nonEmpty, object, parsedJson } from '../observe/json.ts';
import type { GcpCredentials } from './credentials.ts';
import { type ImageName, imagePath } from './image-name.ts';

/** What is read of an image (compute.images of the Compute Engine API, v1). */
export interface ComputeImage {
  readonly name: string;
  /** PENDING, READY, FAILED or DELETING. */
  readonly status: string;
  /** X86_64, ARM64; undefined where the image does not say. */
  readonly architecture: string | undefined;
  /** UEFI_COMPATIBLE, SEV_CAPABLE and others. */
  readonly features: ReadonlySet<string>;
  /** ACTIVE, DEPRECATED, OBSOLETE or DELETED; undefined where nobody deprecated it. */
  readonly deprecation: string | undefined;
  /** When it is going to be obsolete or deleted, as its owner announced. */
  readonly until: string | undefined;
  readonly replacement: string | undefined;
}

/** Reads images. */
export interface ComputeClient {
  /** Rejects as {@link CloudHttps.ask} does. */
  readonly image: (credentials: GcpCredentials, name: ImageName, signal: AbortSignal) => Promise<Answer<ComputeImage>>;
}

/** Where Compute Engine is asked. */
export const computeHost = 'compute.googleapis.com';
/** Reasons that come with 403 and mean "later" (API reference, errors of the domain usageLimits). */
const LATER: ReadonlySet<string> = new Set(['rateLimitExceeded', 'userRateLimitExceeded', 'quotaExceeded']);

/** A client of `images.get` and `images.getFromFamily`. */
export function computeClient({
  https,
  tokens,
}: {
  readonly https: CloudHttps;
  readonly tokens: Tokens<GcpCredentials>;
}): ComputeClient {
  return {
    image: (credentials, name, signal) => {
      const path = imagePath(name);
      const action = `get ${path}`;
      const ask = async (token: string): Promise<Answer<ComputeImage> | TokenRefused> => {
        const answer = await https.ask({
          ...{ method: 'GET', url: `https://${computeHost}/compute/v1/${path}`, action, signal },
          headers: { authorization: `Bearer ${token}` },
          passing: (refusal) => refusal.status === 403 && LATER.has(errorIn(refusal).reason),
        });
        const { status } = answer;
        if (status === 200) return { kind: 'found', found: imageIn(answer, name, action) };
        if (status === 404) return { kind: 'absent' };
        const { reason, message } = errorIn(answer);
        if (status === 401) return { kind: 'tokenRefused', message };
        if (status === 403) return { kind: 'unverified', missing: missingRight(reason, name), message };
        throw invalidAnswer(computeHost, action, `HTTP ${status}: ${message}`);
      };
      return withToken(tokens, credentials, 'Compute Engine', ask, signal);
    },
  };
}

function missingRight(reason: string, { project }: ImageName): string {
  return reason === 'accessNotConfigured' || reason === 'SERVICE_DISABLED'
    ? 'the Compute Engine API (compute.googleapis.com), which is not enabled in the project of the credentials'
    : `permission compute.images.get on project ${project}`;
}

/** `{error: {code, message, errors: [{reason}], details: [{reason}]}}`, the shape of all of Google's JSON APIs. */
function errorIn({ status, text }: CloudAnswer): { readonly reason: string; readonly message: string } {
  const error = object(object(parsedJson(text))['error']);
  const said = nonEmpty(error['message']);
  const message = said === undefined ? `HTTP ${status}` : quoted(said);
  for (const all of [error['errors'], error['details']]) {
    const reason = nonEmpty(object(list(all)[0])['reason']);
    if (reason !== undefined) return { reason, message };
  }
  return { reason: '', message };
}

function imageIn({ text }: CloudAnswer, asked: ImageName, action: string): ComputeImage {
  const body = object(parsedJson(text));
  const [name, status] = [nonEmpty(body['name']), nonEmpty(body['status'])];
  if (name === undefined || status === undefined || (!asked.family && name !== asked.name))
    throw invalidAnswer(computeHost, action, 'the answer is no image of that name');
  const deprecated = object(body['deprecated']);
  const features = list(body['guestOsFeatures']);
  const replacement = nonEmpty(deprecated['replacement']);
  return {
    ...{ name, status, architecture: nonEmpty(body['architecture']), deprecation: nonEmpty(deprecated['state']) },
    features: new Set(features.flatMap((one) => (isObject(one) ? [String(one['type'])] : []))),
    until: nonEmpty(deprecated['obsolete']) ?? nonEmpty(deprecated['deleted']),
    replacement: replacement?.slice(replacement.lastIndexOf('/') + 1),
  };
}
