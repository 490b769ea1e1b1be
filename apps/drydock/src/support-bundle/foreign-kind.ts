import type { Fields } from './fields.ts';

/** What is kept of all metadata. */
export const META: Fields = {
  name: 'kept',
  namespace: 'kept',
  uid: 'kept',
  resourceVersion: 'kept',
  generation: 'kept',
  creationTimestamp: 'kept',
  deletionTimestamp: 'kept',
  finalizers: ['kept'],
  ownerReferences: [{ kind: 'kept', name: 'kept', controller: 'kept' }],
};
/** Of conditions. */
export const CONDITIONS: Fields = [
  {
    type: 'kept',
    status: 'kept',
    reason: 'kept',
    message: 'kept',
    lastTransitionTime: 'kept',
    observedGeneration: 'kept',
    severity: 'kept',
  },
];
/** Of references. */
export const NAMED: Readonly<Record<string, Fields>> = {
  name: 'kept',
  kind: 'kept',
  apiGroup: 'kept',
  namespace: 'kept',
};

/** Of the status of a set. */
export const COUNTS: Fields = {
  replicas: 'kept',
  readyReplicas: 'kept',
  availableReplicas: 'kept',
  updatedReplicas: 'kept',
  unavailableReplicas: 'kept',
  observedGeneration: 'kept',
  phase: 'kept',
  conditions: CONDITIONS,
};
/** Objects of one kind that a bundle has, and which of their fields. */
export interface BundledKind {
  /** File in the bundle, without `.json`. */
  readonly file: string;
  readonly about: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly fields: Fields;
}

/** One kind; `path` is `plural/version/group`. */
export const kind = (file: string, about: string, path: string, fields: Fields): BundledKind => {
  const [plural = '', version = '', ...group] = path.split(/[./]/);
  return { file, about, group: group.join('.'), version, plural, fields };
};
