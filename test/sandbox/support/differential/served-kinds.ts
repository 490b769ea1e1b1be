import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCrds, type Schema } from '@drydock/crd';
import { crdFolder } from '@drydock/sandbox';
import { diceOf, sampleOf } from '../crd-samples.ts';
import { CORE_TEMPLATES } from './core-templates.ts';
import { DRY_RUN_ONLY, GROUP_TEMPLATES } from './group-templates.ts';
import type { Fields, ObjectKind } from './planned-request.ts';
import type { ServerSide } from './server-side.ts';

/** CRD sets whose kinds are written. */
export const CRD_SETS: readonly string[] = ['openshift-4.21', 'cluster-api', 'cluster-api-vsphere'];

interface DiscoveredResource {
  readonly resource: string;
  readonly responseKind: { readonly kind: string };
  readonly scope: string;
  readonly verbs: readonly string[];
  readonly subresources?: readonly { readonly subresource: string; readonly verbs: readonly string[] }[];
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly { readonly version: string; readonly resources: readonly DiscoveredResource[] }[];
  }[];
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** All kinds of objects that a server lists and lets clients write, in the order of their names, as its discovery says. */
export async function writtenKinds(side: ServerSide): Promise<readonly ObjectKind[]> {
  const answers = await Promise.all(
    ['/api', '/apis'].map((path) => side.send({ method: 'GET', path, accept: AGGREGATED })),
  );
  const samples = customSamples();
  const kinds = answers.flatMap(({ body }) =>
    (body as Discovery).items.flatMap(({ metadata: { name: group = '' }, versions }) =>
      versions.flatMap(({ version, resources }) =>
        resources
          .filter(({ verbs }) => verbs.includes('create') && verbs.includes('list'))
          .map((one) => objectKind(group, version, one, samples)),
      ),
    ),
  );
  return kinds.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** `group/version/plural`. */
export function nameOf({ group, version, plural }: ObjectKind): string {
  return `${group}/${version}/${plural}`;
}

function objectKind(
  group: string,
  version: string,
  { resource: plural, responseKind, scope, verbs, subresources = [] }: DiscoveredResource,
  samples: ReadonlyMap<string, readonly Fields[]>,
): ObjectKind {
  const place = `${group}/${plural}`;
  const own = group === '' ? CORE_TEMPLATES[plural] : GROUP_TEMPLATES[place];
  const custom = samples.get(`${group}/${version}/${plural}`);
  const templates = own ?? custom;
  if (templates === undefined) throw new TypeError(`no template of ${place}: add one to core- or group-templates.ts`);
  return {
    group,
    version,
    plural,
    kind: responseKind.kind,
    namespaced: scope === 'Namespaced',
    verbs,
    subresources: subresources.map(({ subresource, verbs: of }) => ({ name: subresource, verbs: of })),
    templates,
    builtIn: own !== undefined,
    ...(DRY_RUN_ONLY.has(place) ? { dryRunOnly: true } : {}),
  };
}

/** Objects of the kinds of CRD sets: one with little and one with much of what is optional. */
function customSamples(): ReadonlyMap<string, readonly Fields[]> {
  const samples = new Map<string, readonly Fields[]>();
  for (const set of CRD_SETS) {
    for (const file of globSync(join(crdFolder(set), '*.yaml')).toSorted()) {
      for (const crd of readCrds(readFileSync(file, 'utf8'), file)) {
        for (const { name, schema } of crd.versions) {
          const fullness = [1, 6];
          samples.set(
            `${crd.group}/${name}/${crd.plural}`,
            fullness.map((full) => sampleFields(schema, full)),
          );
        }
      }
    }
  }
  return samples;
}

function sampleFields(schema: Schema | undefined, fullness: number): Fields {
  const sample = sampleOf(schema ?? {}, diceOf(fullness), fullness);
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...fields } = (sample ?? {}) as Fields;
  return fields;
}
