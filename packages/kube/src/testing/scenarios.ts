import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Client, KubeClient } from '../client/client.ts';
import type { ApiError, ApiErrorCode } from '../errors.ts';
import type { Key, KubeObject } from '../resource.ts';
import { failureOf } from './failure.ts';
import type { Parcel, Widget } from './scenarios-crds.ts';
import type { ConfigMap } from './server.ts';

/** What an implementation must offer; its lifetime is its owner's business. */
export type ScenarioClient = Client & Pick<KubeClient, 'pages' | 'raw' | 'watch'>;

/** Where the scenarios work. The kinds of `SCENARIO_CRDS` are served. */
export interface ScenarioCluster {
  readonly client: ScenarioClient;
  /** A namespace that exists and that nobody else uses. */
  readonly namespace: string;
  /** Makes the server forget its history: watches from before, and continue tokens, are too old afterwards. */
  forget(): Promise<void>;
  /** Installs a CRD, or replaces it. Nobody waits for the new schema to be in force: the scenario does. */
  serve(crd: KubeObject): Promise<void>;
}

/** One behaviour that every API server must show, in memory or real. Names inside are unique, so that all can share one server. */
export interface ClusterScenario {
  readonly name: string;
  run(cluster: ScenarioCluster): Promise<void>;
}

/** A name nobody has. */
export function fresh(): string {
  return `s-${randomBytes(5).toString('hex')}`;
}

/** A new Widget. */
export function widget(
  { namespace }: ScenarioCluster,
  spec: Widget['spec'] = {},
  metadata: Partial<Widget['metadata']> = {},
): Widget & { readonly metadata: Key & { readonly namespace: string } } {
  return { metadata: { name: fresh(), ...metadata, namespace }, spec };
}

/** A new ConfigMap. */
export function configMap(
  { namespace }: ScenarioCluster,
  data: Record<string, string> = {},
  metadata: Partial<ConfigMap['metadata']> = {},
): ConfigMap & { readonly metadata: Key & { readonly namespace: string } } {
  return { metadata: { name: fresh(), ...metadata, namespace }, data };
}

/** A new Parcel. */
export function parcel(spec: unknown): Parcel {
  return { metadata: { name: fresh() }, spec };
}

/** The error of a call that must be refused with this code and HTTP status. */
export async function refused(call: Promise<unknown>, code: ApiErrorCode, status: number): Promise<ApiError> {
  const error = await failureOf(call, `should have been refused with ${code}`);
  assert.deepEqual([error.code, error.status], [code, status], error.message);
  return error;
}

/** Fields and reasons of an error's causes, sorted: servers differ in their order. */
export function causesOf(error: ApiError): readonly string[] {
  return (error.details.causes ?? []).map(({ field, reason }) => `${field} ${reason}`).sort();
}

/** The object's version, which every answer carries. */
export function versionOf(object: KubeObject): string {
  assert.ok(object.metadata.resourceVersion !== undefined);
  return object.metadata.resourceVersion;
}

/** `/api/v1/namespaces/ns/configmaps`, for what has no method. */
export function configMapsPath({ namespace }: ScenarioCluster): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}

/** `/apis/scenarios.drydock.dev/v1/namespaces/ns/widgets`, for what has no method. */
export function widgetsPath({ namespace }: ScenarioCluster): string {
  return `/apis/scenarios.drydock.dev/v1/namespaces/${namespace}/widgets`;
}
