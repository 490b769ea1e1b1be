import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesObject,
  PatchStrategy,
  setHeaderOptions,
  Watch,
} from '@kubernetes/client-node';
import { ApiError, type KubeObject, type ListPage, type Resource, type Selector, type WatchEvent } from '@drydock/kube';
import type { ScenarioClient } from '@drydock/kube/testing';
import { errorOfStatus, type Status } from '../../../packages/kube/src/errors.ts';

/** What `@kubernetes/client-node` has no call for. A scenario that ends in it says nothing about either client. */
export class CannotSay extends Error {
  override readonly name = 'CannotSay';
}
