import { readJson } from '@drydock/api';
import { isObject, type Json } from '@drydock/crd';

const TYPE = 'atomic container signature';

/**
 * Why a text is no signature of an image (containers/image, "simple signing"); undefined where it is one of this digest. What it calls critical and nobody knows speaks against it. Whether
 * somebody signed the text is another question.
 */
export function signatureFlaw(text: string, digest: string): string | undefined {
  let value: Json;
  try {
    value = readJson(text) as Json;
  } catch {
    return 'what was signed is no JSON';
  }
  const critical = isObject(value) ? value['critical'] : undefined;
  if (critical === undefined || !isObject(critical)) return 'what was signed speaks of no image';
  const { type, image, identity, ...more } = critical;
  if (Object.keys(more).length > 0) return 'what was signed has a critical part that is not known';
  if (type !== TYPE) return `what was signed is no ${TYPE}`;
  const signed = image !== undefined && isObject(image) ? image['docker-manifest-digest'] : undefined;
  const reference = identity !== undefined && isObject(identity) ? identity['docker-reference'] : undefined;
  if (typeof signed !== 'string' || typeof reference !== 'string') return 'what was signed names no image';
  return signed === digest ? undefined : 'another image was signed';
}
