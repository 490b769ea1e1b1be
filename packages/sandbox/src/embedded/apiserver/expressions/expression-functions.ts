import { ADDRESS_FUNCTIONS } from './address-functions.ts';
import { COLLECTION_FUNCTIONS } from './collection-functions.ts';
import { CONVERSIONS } from './conversion-functions.ts';
import { ACCESS_FUNCTIONS } from './expression-access.ts';
import { FORMAT_FUNCTIONS } from './format-functions.ts';
import { type Overload, overloadsByName } from './function-overloads.ts';
import { OPERATORS } from './operator-functions.ts';
import { OPTIONAL_FUNCTIONS } from './optional-functions.ts';
import { QUANTITY_FUNCTIONS } from './quantity-functions.ts';
import { SEMVER_FUNCTIONS } from './semver-functions.ts';
import { STRING_FUNCTIONS } from './string-functions.ts';
import { TIME_FUNCTIONS } from './time-functions.ts';
import { URL_FUNCTIONS } from './url-functions.ts';

// The functions of CEL's standard library, and those that Kubernetes adds.

const OVERLOADS = overloadsByName({
  ...OPERATORS,
  ...COLLECTION_FUNCTIONS,
  ...CONVERSIONS,
  ...STRING_FUNCTIONS,
  ...TIME_FUNCTIONS,
  ...OPTIONAL_FUNCTIONS,
  ...QUANTITY_FUNCTIONS,
  ...ADDRESS_FUNCTIONS,
  ...URL_FUNCTIONS,
  ...SEMVER_FUNCTIONS,
  ...FORMAT_FUNCTIONS,
  ...ACCESS_FUNCTIONS,
});

/** The overloads of a function; undefined if the function does not exist. */
export function overloadsOf(name: string): readonly Overload[] | undefined {
  return OVERLOADS.get(name);
}

/** Names before the dot of namespaced functions, such as `sets` in `sets.contains(a, b)`. */
export const NAMESPACES: ReadonlySet<string> = new Set([
  'sets',
  'optional',
  'strings',
  'ip',
  'cidr',
  'format',
  'cel',
  'lists',
]);
