import type { JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { CelRule, Crd, Schema } from '../schema/schema.ts';

/** Minors of the releases whose ClusterVersion is known here. */
export const RELEASES = [13, 14, 15, 16, 17, 18, 19, 20, 21, 22] as const;
/** See {@link RELEASES}: 13 is 4.13. */
export type Release = (typeof RELEASES)[number];

/** Capabilities by the release that brought them; status lists them in byte order. */
const SINCE: readonly (readonly [Release, readonly string[]])[] = [
  [
    13,
    ['openshift-samples', 'baremetal', 'marketplace', 'Console', 'Insights', 'Storage', 'CSISnapshot', 'NodeTuning'],
  ],
  [14, ['MachineAPI', 'Build', 'DeploymentConfig', 'ImageRegistry']],
  [15, ['OperatorLifecycleManager', 'CloudCredential']],
  [16, ['Ingress', 'CloudControllerManager']],
  [18, ['OperatorLifecycleManagerV1']],
];

/** The vocabulary of a release. */
export function capabilitiesOf(release: Release): readonly string[] {
  return SINCE.flatMap(([since, names]) => (since <= release ? names : [])).toSorted((a, b) => (a < b ? -1 : 1));
}

/**
 * A ClusterVersion CRD with the enums, bounds, list types and rules that openshift/api has on its branch release-4.`release` (config/v1, feature set Default), and without its
 * descriptions. The rules at the root read `baselineCapabilitySet` unguarded, as upstream's do.
 */
export function clusterVersionCrd(release: Release): Crd {
  return readCrd(clusterVersionManifest(release), `4.${release}`);
}

/** See {@link clusterVersionCrd}, as a document. */
export function clusterVersionManifest(release: Release): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'clusterversions.config.openshift.io' },
    spec: {
      group: 'config.openshift.io',
      scope: 'Cluster',
      names: {
        kind: 'ClusterVersion',
        plural: 'clusterversions',
        singular: 'clusterversion',
        listKind: 'ClusterVersionList',
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schemaOf(release) as unknown as JsonObject },
        },
      ],
    },
  };
}

const text: Schema = { type: 'string' };
const time: Schema = { type: 'string', format: 'date-time' };

function list(items: Schema, more: Partial<Schema> = {}): Schema {
  return { type: 'array', items, ...more };
}

function object(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}

function mapOf(...keys: readonly string[]): Partial<Schema> {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys };
}

function needs(capability: string, other: string): CelRule {
  const additional = 'self.spec.capabilities.additionalEnabledCapabilities';
  const status = 'self.status.capabilities';
  return {
    rule:
      `has(self.spec.capabilities) && has(${additional}) && self.spec.capabilities.baselineCapabilitySet == 'None' && '${capability}' in ${additional} ? ` +
      `'${other}' in ${additional} || (has(self.status) && has(${status}) && has(${status}.enabledCapabilities) && '${other}' in ${status}.enabledCapabilities) : true`,
    message: `${capability} needs ${other}`,
  };
}

function schemaOf(release: Release): Schema {
  const from = (since: Release, more: Partial<Schema>): Partial<Schema> => (release >= since ? more : {});
  const capabilities = list(
    { type: 'string', enum: SINCE.flatMap(([since, names]) => (since <= release ? names : [])) },
    { 'x-kubernetes-list-type': 'atomic' },
  );
  const baselines = [
    'None',
    'v4.11',
    'v4.12',
    ...RELEASES.filter((one) => one <= Math.min(release, 18)).map((one) => `v4.${one}`),
  ];
  const published: Schema = {
    ...object({
      ...(release >= 21 ? { architecture: { type: 'string', enum: ['Multi', ''] } } : {}),
      channels: list(text, from(15, { 'x-kubernetes-list-type': 'set' })),
      image: text,
      url: text,
      version: text,
    }),
    ...from(18, { required: ['image', 'version'] }),
  };
  const condition = object({ lastTransitionTime: time, message: text, reason: text, status: text, type: text }, [
    'lastTransitionTime',
    'status',
    'type',
  ]);
  const history = object(
    {
      acceptedRisks: text,
      completionTime: { ...time, nullable: true },
      image: text,
      startedTime: time,
      state: text,
      verified: { type: 'boolean' },
      version: text,
    },
    ['completionTime', 'image', 'startedTime', 'state', 'verified'],
  );
  const risk = object({ message: { ...text, minLength: 1 }, name: { ...text, minLength: 1 } }, ['message', 'name']);
  const rules = [
    ...(release >= 14 && release <= 16 ? [needs('baremetal', 'MachineAPI')] : []),
    ...(release >= 15 ? [needs('marketplace', 'OperatorLifecycleManager')] : []),
  ];
  const override = object({ group: text, kind: text, name: text, namespace: text, unmanaged: { type: 'boolean' } }, [
    'group',
    'kind',
    'name',
    'namespace',
    'unmanaged',
  ]);
  return {
    ...object(
      {
        apiVersion: text,
        kind: text,
        metadata: { type: 'object' },
        spec: object(
          {
            capabilities: object({
              additionalEnabledCapabilities: capabilities,
              baselineCapabilitySet: { type: 'string', enum: [...baselines, 'vCurrent'] },
            }),
            channel: text,
            clusterID: text,
            desiredUpdate: object({
              architecture: { type: 'string', enum: ['Multi', ''] },
              force: { type: 'boolean' },
              image: text,
              version: text,
            }),
            overrides: list(override, from(15, mapOf('kind', 'group', 'namespace', 'name'))),
            upstream: text,
          },
          ['clusterID'],
        ),
        status: object(
          {
            availableUpdates: list(published, {
              nullable: true,
              ...from(15, { 'x-kubernetes-list-type': 'atomic' }),
              ...from(22, { maxItems: 500 }),
            }),
            capabilities: object({ enabledCapabilities: capabilities, knownCapabilities: capabilities }),
            conditionalUpdates: list(
              object({ release: published, risks: list(risk, { minItems: 1, ...mapOf('name') }) }, [
                'release',
                'risks',
              ]),
              {
                'x-kubernetes-list-type': 'atomic',
                ...from(22, { maxItems: 500 }),
              },
            ),
            conditions: list(condition, from(15, mapOf('type'))),
            desired: published,
            history: list(history, {
              ...from(15, { 'x-kubernetes-list-type': 'atomic' }),
              ...from(22, { maxItems: 200 }),
            }),
            observedGeneration: { type: 'integer', format: 'int64' },
            versionHash: text,
          },
          ['availableUpdates', 'desired', 'observedGeneration', 'versionHash'],
        ),
      },
      ['spec'],
    ),
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  };
}

const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;

function entry(minor: number, minute: number, state = 'Completed'): JsonObject {
  return {
    version: `4.${minor}.0`,
    image: `registry.example/release@sha256:${String(minor).repeat(32)}`,
    state,
    startedTime: at(minute),
    completionTime: state === 'Completed' ? at(minute + 5) : null,
    verified: true,
  };
}

/** A stored ClusterVersion of a cluster that came from 4.13 and is at 4.`release`. `known` overrides the list of known capabilities. */
export function clusterVersionObject(
  release: Release,
  {
    known = capabilitiesOf(release),
    spec = {},
  }: { readonly known?: readonly string[]; readonly spec?: JsonObject } = {},
): JsonObject {
  const history = RELEASES.filter((one) => one <= release)
    .map((one, index) => entry(one, index * 6))
    .toReversed();
  const { version = '', image = '' } = history[0] ?? {};
  const condition = (type: string, status: string): JsonObject => ({ type, status, lastTransitionTime: at(0) });
  return {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version', uid: '00000000-0000-4000-8000-000000000001', resourceVersion: '7' },
    spec: { clusterID: '00000000-0000-4000-8000-000000000002', channel: `stable-4.${release}`, ...spec },
    status: {
      availableUpdates: null,
      capabilities: { enabledCapabilities: capabilitiesOf(release), knownCapabilities: known },
      conditions: [condition('Available', 'True'), condition('Failing', 'False'), condition('Progressing', 'False')],
      desired: { version, image },
      history,
      observedGeneration: 1,
      versionHash: 'x',
    },
  };
}
