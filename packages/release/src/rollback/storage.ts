import { isObject, type JsonObject } from '@drydock/crd';
import { isConflict, isForbidden, isNotFound, type KubeObject } from '@drydock/kube';
import { changeDefinition } from './definition-writes.ts';
import { DEFINITION, type Definition } from './definitions.ts';
import { kindWay, objectsOf } from './objects.ts';
import type { Way } from './way.ts';

/** Writes that lost against others. */
const ATTEMPTS = 8;

/**
 * Stores every object in the version that is stored now, and takes the others out of what the definition says was ever stored. `before` it is narrowed that is done where the target does not know one of them: the server would
 * refuse it. Resolves to why it could not be said. Rejects with `ApiError`.
 */
export async function migrateStorage(
  definition: Definition,
  way: Way,
  when: 'before' | 'after',
): Promise<string | undefined> {
  const { client, signal } = way.ports;
  const { live } = await changeDefinition(definition, way, () => undefined);
  const { target } = definition;
  if (live === undefined || target === undefined) return undefined;
  const stored = storedVersions(live);
  const storage = storageOf(live);
  const others = stored.filter((name) => name !== storage);
  const unknown = others.filter((name) => !target.versions.some((version) => version.name === name));
  if (others.length === 0 || (when === 'before' && unknown.length === 0)) return undefined;
  const { crd } = definition;
  const kind = crd === undefined ? undefined : kindWay(crd, target, 0);
  if (kind === undefined) return undefined;
  for await (const found of objectsOf(client, kind.resource, signal)) {
    try {
      await client.replace(kind.resource, found, { signal });
    } catch (error) {
      // Whoever was faster has stored it anew, too.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
  for (let attempt = 1; ; attempt += 1) {
    const now = await client.get(DEFINITION, { name: definition.name }, { signal });
    const { status = {} } = now as { readonly status?: JsonObject };
    const next = { ...now, status: { ...status, storedVersions: [storage] } } as KubeObject;
    try {
      await client.replaceStatus(DEFINITION, next, { signal });
      return undefined;
    } catch (error) {
      if (isForbidden(error) && when === 'after')
        return `status.storedVersions of ${definition.name} still names ${others.join(', ')}: that needs update on customresourcedefinitions/status`;
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Whether a definition names versions that it does not store. */
export function hasOldVersions({ live }: Definition): boolean {
  return live !== undefined && storedVersions(live).some((name) => name !== storageOf(live));
}

function storedVersions(live: KubeObject): readonly string[] {
  const { status } = live as { readonly status?: JsonObject };
  const names = isObject(status as never) ? status?.['storedVersions'] : undefined;
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

function storageOf(live: KubeObject): string {
  const { spec } = live as { readonly spec?: { readonly versions?: readonly JsonObject[] } };
  const found = spec?.versions?.find(({ storage }) => storage === true)?.['name'];
  return typeof found === 'string' ? found : '';
}
