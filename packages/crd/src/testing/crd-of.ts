import type { JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { Crd, Schema } from '../schema/schema.ts';

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
        names: { kind: 'Thing', plural },
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
