import { ApiError, isConflict, type KubeObject } from '@drydock/kube';
import { isBridgeColumn } from './bridge-definition.ts';
import { DEFINITION, type Definition, definitionAs } from './definitions.ts';
import { kindWay } from './objects.ts';
import type { Way } from './way.ts';

/** Writes that lost against others. */
const ATTEMPTS = 8;
/** ms until a server must serve what was written. */
const SERVED = 30_000;
const LOOK = 100;

/** Writes a definition that is decided anew from what is there as often as somebody else was faster; undefined: there is nothing to write. Resolves to the definition as it is then. Rejects with `ApiError`. */
export async function changeDefinition(
  { manifest }: Definition,
  { ports, wish }: Way,
  next: (now: Definition) => KubeObject | undefined,
): Promise<Definition> {
  const { client, signal } = ports;
  for (let attempt = 1; ; attempt += 1) {
    const live = await client.get(DEFINITION, { name: manifest.id.name }, { signal });
    const now = definitionAs(manifest, live, wish);
    const wanted = next(now);
    if (wanted === undefined) return now;
    try {
      return definitionAs(manifest, await client.replace(DEFINITION, wanted, { signal }), wish);
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Waits until every API server serves a definition with this column of a bridge, or (undefined) with none. False where one does not in time. */
export async function isServed(definition: Definition, column: string | undefined, way: Way): Promise<boolean> {
  const { clock, columns, signal } = way.ports;
  const { crd, target } = definition;
  const kind = crd === undefined || target === undefined ? undefined : kindWay(crd, target, 0);
  // Nobody can write to it.
  if (kind === undefined) return true;
  const until = clock.now() + SERVED;
  for (;;) {
    signal.throwIfAborted();
    try {
      const servers = await columns(kind.resource, signal);
      const fits = (names: readonly string[]): boolean =>
        column === undefined ? !names.some(isBridgeColumn) : names.includes(column);
      if (servers.length > 0 && servers.every(fits)) return true;
    } catch (error) {
      // A server that begins to serve a definition anew says so.
      if (!(error instanceof ApiError && (error.retriable || error.code === 'NotFound'))) throw error;
    }
    if (clock.now() >= until) return false;
    await clock.sleep(LOOK, { signal });
  }
}
