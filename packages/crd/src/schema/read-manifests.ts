import { readYaml, YamlFlaw } from '@drydock/api/yaml';
import { CrdError } from '../errors.ts';
import { isList, isObject, type Json, type JsonObject, textOf } from './json.ts';

/** All objects of a YAML or JSON text, those of Lists included. Throws `CrdError`. */
export function readManifests(text: string, source: string): readonly JsonObject[] {
  return documentsOf(text, source).flatMap((value) =>
    (isObject(value) && isList(value['items']) && textOf(value['kind']).endsWith('List')
      ? value['items']
      : [value]
    ).filter(isObject),
  );
}

function documentsOf(text: string, source: string): readonly Json[] {
  try {
    return readYaml(text) as readonly Json[];
  } catch (error) {
    if (!(error instanceof YamlFlaw)) throw error;
    if (error.tooLarge) throw new CrdError('TOO_LARGE', `${source} cannot be read: ${error.message}`);
    throw new CrdError('UNREADABLE', `${source} cannot be read: ${error.message}`);
  }
}
