import { oneLine } from '@drydock/api/text';
import { type CloudAnswer, type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import type { Tokens } from '../cloud/tokens.ts';
import { isObject, nonEmpty, parsedJson } from '../observe/json.ts';
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

/** What Compute Engine says of a name. */
export type ImageAnswer =
  | { readonly kind: 'found'; readonly image: ComputeImage }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unverified'; readonly missing: string; readonly message: string };

/** Reads images. */
export interface ComputeClient {
  /** Rejects as {@link CloudHttps.ask} does. */
  readonly image: (credentials: GcpCredentials, name: ImageName, signal: AbortSignal) => Promise<ImageAnswer>;
}

/** Where Compute Engine is asked. */
export const computeHost = 'compute.googleapis.com';
const QUOTED = 300;
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
  async function image(
    credentials: GcpCredentials,
    name: ImageName,
    signal: AbortSignal,
    again: boolean,
  ): Promise<ImageAnswer> {
    const token = await tokens.of(credentials, signal);
    if (token.kind === 'refused') return { ...token, kind: 'unverified' };
    const path = imagePath(name);
    const action = `get ${path}`;
    const answer = await https.ask({
      ...{ method: 'GET', url: `https://${computeHost}/compute/v1/${path}`, action, signal },
      headers: { authorization: `Bearer ${token.token}` },
      passing: (refusal) => refusal.status === 403 && LATER.has(errorIn(refusal).reason),
    });
    const { status } = answer;
    if (status === 200) return { kind: 'found', image: imageIn(answer, name, action) };
    if (status === 404) return { kind: 'absent' };
    const { reason, message } = errorIn(answer);
    if (status === 401) {
      tokens.forget(credentials);
      // It may have been revoked with its key since; a new one tells.
      if (again) return image(credentials, name, signal, false);
      return { kind: 'unverified', missing: 'valid credentials', message: `Compute Engine refused them: ${message}` };
    }
    if (status === 403) return { kind: 'unverified', missing: missingRight(reason, name), message };
    throw invalidAnswer(computeHost, action, `HTTP ${status}: ${message}`);
  }
  return { image: (credentials, name, signal) => image(credentials, name, signal, true) };
}

function missingRight(reason: string, { project }: ImageName): string {
  return reason === 'accessNotConfigured' || reason === 'SERVICE_DISABLED'
    ? 'the Compute Engine API (compute.googleapis.com), which is not enabled in the project of the credentials'
    : `permission compute.images.get on project ${project}`;
}

/** `{error: {code, message, errors: [{reason}], details: [{reason}]}}`, the shape of all of Google's JSON APIs. */
function errorIn({ status, text }: CloudAnswer): { readonly reason: string; readonly message: string } {
  const body = parsedJson(text);
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  const message = oneLine(nonEmpty(error['message']) ?? `HTTP ${status}`).slice(0, QUOTED);
  for (const list of [error['errors'], error['details']]) {
    const [first] = Array.isArray(list) ? (list as readonly unknown[]) : [];
    const reason = isObject(first) ? nonEmpty(first['reason']) : undefined;
    if (reason !== undefined) return { reason, message };
  }
  return { reason: '', message };
}

function imageIn({ text }: CloudAnswer, asked: ImageName, action: string): ComputeImage {
  const body = parsedJson(text);
  const name = isObject(body) ? nonEmpty(body['name']) : undefined;
  const status = isObject(body) ? nonEmpty(body['status']) : undefined;
  if (!isObject(body) || name === undefined || status === undefined || (!asked.family && name !== asked.name))
    throw invalidAnswer(computeHost, action, 'the answer is no image of that name');
  const deprecated = isObject(body['deprecated']) ? body['deprecated'] : {};
  const features: readonly unknown[] = Array.isArray(body['guestOsFeatures']) ? body['guestOsFeatures'] : [];
  const replacement = nonEmpty(deprecated['replacement']);
  return {
    ...{ name, status, architecture: nonEmpty(body['architecture']), deprecation: nonEmpty(deprecated['state']) },
    features: new Set(features.flatMap((one) => (isObject(one) ? [String(one['type'])] : []))),
    until: nonEmpty(deprecated['obsolete']) ?? nonEmpty(deprecated['deleted']),
    replacement: replacement?.slice(replacement.lastIndexOf('/') + 1),
  };
}
