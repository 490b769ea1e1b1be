import { CLASS_MEANINGS, type Finding } from '../diff/finding.ts';
import { isList, isObject, type JsonObject, textOf } from '../schema/json.ts';
import type { PreflightOptions } from './preflight-object.ts';

/**
 * Webhook configurations that the target lacks: their backend goes with the release that brought them. One that fails closed then refuses what it is asked about; one that fails open is left behind.
 */
export function preflightWebhooks(
  now: readonly JsonObject[],
  target: readonly JsonObject[],
  options: PreflightOptions,
): readonly Finding[] {
  const name = (of: JsonObject): string => {
    const metadata = isObject(of['metadata']) ? of['metadata'] : {};
    return `${textOf(of['kind'])} ${textOf(metadata['name'])}`;
  };
  const kept = new Set(target.map(name));
  return now.flatMap((configuration): readonly Finding[] => {
    if (kept.has(name(configuration))) return [];
    const hooks = isList(configuration['webhooks']) ? configuration['webhooks'] : [];
    // Closed is what the API takes where nothing is said.
    const closed = hooks.some((hook) => isObject(hook) && (hook['failurePolicy'] ?? 'Fail') === 'Fail');
    const kind = closed ? 'WEBHOOK' : 'ORPHAN';
    // A policy needs nobody who answers.
    const how = hooks.length === 0 ? '' : `fails ${closed ? 'closed' : 'open'}, and `;
    return [
      {
        class: kind,
        rule: 'N28',
        crd: '',
        version: '',
        object: name(configuration),
        resourceVersion: '',
        path: name(configuration).replace(' ', '/'),
        endpoints: closed ? ['spec', 'create', 'apply'] : [],
        blocking: closed,
        eraNow: options.now.era,
        eraTarget: options.target.era,
        what: `${how}the target does not have it`,
        sample: '',
        remedy: CLASS_MEANINGS[kind].remedy,
      },
    ];
  });
}
