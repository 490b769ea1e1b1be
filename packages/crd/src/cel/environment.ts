import { Environment } from '@marcbachmann/cel-js';
import { addAddresses, Cidr, Ip } from './addresses.ts';
import { addConversions } from './conversions.ts';
import type { Add } from './fault.ts';
import { addLists } from './lists.ts';
import { addMacros, addOptionals } from './macros.ts';
import { addNamedFormats, NamedFormat } from './named-formats.ts';
import { addQuantities, Quantity } from './quantity.ts';
import { addStrings } from './strings.ts';
import { addUrls, Url } from './urls.ts';
import { addVersions, Version } from './versions.ts';

let shared: Environment | undefined;

/**
 * CEL with the functions and macros that Kubernetes adds for rules of definitions (k8s.io/apiserver, pkg/cel/environment/base.go), under the names that {@link withOurs} gives them. Not here are the authorizer, which rules of
 * definitions do not have, and JSON patches, which are for policies.
 */
export function environment(): Environment {
  if (shared !== undefined) return shared;
  const made = new Environment({
    unlistedVariablesAreDyn: true,
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
  });
  for (const type of [Ip, Cidr, Quantity, Version, Url, NamedFormat]) made.registerType(type.name, type);
  const add: Add = (signature, handler) => {
    const act = handler as (...args: unknown[]) => unknown;
    if (/ == /.test(signature)) made.registerOperator(signature, act);
    else made.registerFunction(signature, act);
  };
  addConversions(add);
  addStrings(add);
  addLists(add);
  addMacros(add);
  addOptionals(add);
  addAddresses(add);
  addQuantities(add);
  addUrls(add);
  addNamedFormats(add);
  addVersions(add);
  shared = made;
  return made;
}
