import type { JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { Crd, Schema } from '../schema/schema.ts';

/** A version of {@link crdOfVersions}. */
export interface VersionOf {
  readonly name: string;
  readonly schema: Schema;
  readonly served?: boolean;
  readonly storage?: boolean;
}

/** A definition of several versions, the first of them stored unless another one is. */
export function crdOfVersions(
  versions: readonly VersionOf[],
  {
    conversion = 'None',
    plural = 'things',
  }: { readonly conversion?: 'None' | 'Webhook'; readonly plural?: string } = {},
): Crd {
  const stored = versions.find(({ storage }) => storage === true) ?? versions[0];
  const { manifest } = crdOf({ type: 'object' }, { plural });
  const spec = {
    ...(manifest['spec'] as JsonObject),
    conversion: { strategy: conversion },
    versions: versions.map(({ name, schema, served = true }) => ({
      name,
      served,
      storage: name === stored?.name,
      subresources: { status: {} },
      schema: { openAPIV3Schema: schema as unknown as JsonObject },
    })),
  };
  return readCrd({ ...manifest, spec }, 'test');
}

/** A definition of one version with this schema, and with a status subresource. */
export function crdOf(schema: Schema, { plural = 'things' }: { readonly plural?: string } = {}): Crd {
  return readCrd(
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.example.com` },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: kindOf(plural), plural },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: { openAPIV3Schema: schema as unknown as JsonObject },
          },
        ],
      },
    },
    'test',
  );
}

/** `things` are of kind Thing: two kinds of one name are not served. */
function kindOf(plural: string): string {
  return `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`.replace(/s$/, '');
}
