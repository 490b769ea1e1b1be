import { schemaAt } from '../diff/cause-rule.ts';
import { isObject, type Json, type JsonObject, showJson, textOf } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import type { Cause } from '../validate/cause.ts';
import { unchanged } from '../validate/unchanged.ts';

/** Values of an enum that a remedy lists. */
const LISTED = 12;

/** What to do about a value that the target refuses to a person who writes it: which values both schemas take, and the command that sets one. Undefined: nothing better than the words of its class. */
export function specRemedy(
  object: JsonObject,
  crd: string,
  { keyword, path }: Cause,
  now: Schema | undefined,
  target: Schema,
): string | undefined {
  if (path.length === 0) return undefined;
  const edit = `kubectl edit ${resourceOf(crd, object)}`;
  if (keyword !== 'enum') return `Change the value before the swap: ${edit}`;
  const at = schemaAt(target, path)?.schema;
  const legal = at?.enum ?? [];
  const before = now === undefined ? undefined : schemaAt(now, path)?.schema;
  const both = legal.filter((value) => before?.enum?.some((one) => unchanged(one, value, {})) !== false);
  const accepts = `The target accepts ${listed(legal)}`;
  const [first] = both;
  if (first === undefined)
    return `${accepts}, and the live schema none of them: go through a bridge (drydock crd bridge), and set one there: ${edit}`;
  const only = both.length === legal.length ? '' : ` (the live schema only ${listed(both)})`;
  return `${accepts}${only}. Set one before the swap, as by: ${patch(object, crd, path, first)}`;
}

function listed(values: readonly Json[]): string {
  const shown = values.slice(0, LISTED).map(showJson).join(', ');
  return values.length > LISTED ? `${shown} and ${values.length - LISTED} more` : shown;
}

/** By JSON patch: it reaches items of lists, too. */
function patch(object: JsonObject, crd: string, path: Path, value: Json): string {
  const pointer = path.map((part) => `/${`${part}`.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  const steps = showJson([{ op: 'replace', path: pointer, value }]).replaceAll("'", '\\u0027');
  return `kubectl patch ${resourceOf(crd, object)} --type=json -p '${steps}'`;
}

function resourceOf(crd: string, object: JsonObject): string {
  const { name, namespace } = isObject(object['metadata']) ? object['metadata'] : {};
  const where = namespace === undefined ? '' : ` -n ${textOf(namespace)}`;
  return `${crd} ${textOf(name)}${where}`;
}
