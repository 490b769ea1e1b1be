import {
  type JsonObject,
  jsonEqual,
  type KindRules,
  metadataOf,
  objectOf,
  type StatusCause,
  withMetadata,
  without,
} from '@drydock/kube/testing/api-server';
import { copyOf, type Draft, part, textOf, within } from './draft.ts';
import { checkImmutable, checkNotNegative, forbidden, required } from './field-errors.ts';
import { podSpecViolations, templateViolations } from './pod-checks.ts';
import type { RulesByKind } from './rules-host.ts';

type Violations = NonNullable<KindRules['violations']>;

const specOf = (object: JsonObject): Draft => objectOf(object['spec']) as Draft;

/** Violations of everything but the status. */
const ofSpec =
  (violations: Violations): Violations =>
  (object, old, context) =>
    context.subresource === 'status' ? [] : violations(object, old, context);

/** The checks of kinds with a selector, a template and a number of replicas. */
const replicated = (...immutableFields: readonly string[]): Violations =>
  ofSpec((object, old) => {
    const spec = specOf(object);
    return [
      ...checkNotNegative('spec.replicas', spec['replicas']),
      ...templateViolations(spec, ['Always']),
      ...checkImmutable('spec', spec, old && specOf(old), immutableFields),
    ];
  });

/** A change of the annotations alone counts as one of a Deployment's generation. */
function deploymentUpdate(object: JsonObject, old: JsonObject): JsonObject {
  const [is, was] = [metadataOf(object), metadataOf(old)];
  const same = jsonEqual(is['annotations'] ?? {}, was['annotations'] ?? {});
  if (same || !jsonEqual(object['spec'], old['spec'])) return object;
  return withMetadata(object, { ...is, generation: Number(was['generation'] ?? 0) + 1 });
}

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

function withTemplateGeneration(object: JsonObject, generation: number): JsonObject {
  const metadata = metadataOf(object);
  const annotations = { ...objectOf(metadata['annotations']), [TEMPLATE_GENERATION]: String(generation) };
  return withMetadata(object, { ...metadata, annotations });
}

const daemonSet: KindRules = {
  generation: true,
  create: (object) => withTemplateGeneration(object, 1),
  update: (object, old, { subresource }) => {
    if (subresource === 'status') return object;
    const generation = Number(objectOf(metadataOf(old)['annotations'])[TEMPLATE_GENERATION] ?? 1);
    const same = jsonEqual(specOf(object)['template'], specOf(old)['template']);
    return withTemplateGeneration(object, same ? generation : generation + 1);
  },
  violations: replicated('selector'),
};

const STATEFUL_SET_CHANGED =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const STATEFUL_SET_MUTABLE = [
  ...['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'],
  ...['persistentVolumeClaimRetentionPolicy', 'minReadySeconds'],
];

const statefulSetViolations = ofSpec((object, old, context) => {
  const fixed = (of: JsonObject): JsonObject => without(specOf(of), ...STATEFUL_SET_MUTABLE);
  const changed = old !== undefined && !jsonEqual(fixed(object), fixed(old));
  return [...replicated()(object, old, context), ...(changed ? [forbidden('spec', STATEFUL_SET_CHANGED)] : [])];
});

/** Jobs select their pods by the job's own UID, unless `manualSelector` is set. */
function newJob(object: JsonObject): JsonObject {
  const job = copyOf(object);
  const spec = within(job, 'spec');
  if (spec['manualSelector'] === true) return job;
  const { uid, name } = metadataOf(object);
  const template = within(within(spec, 'template'), 'metadata');
  Object.assign(within(template, 'labels'), {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  });
  // A job without labels gets those of its template.
  if (part(job, 'metadata', 'labels') === undefined) {
    within(job, 'metadata')['labels'] = { ...objectOf(template['labels']) };
  }
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  return job;
}

const jobViolations = ofSpec((object, old) => {
  const spec = specOf(object);
  const template = part(spec, 'template', 'spec') ?? {};
  const causes: StatusCause[] = podSpecViolations(template, 'spec.template.spec');
  if (!['Never', 'OnFailure'].includes(String(template['restartPolicy']))) {
    causes.push(required('spec.template.spec.restartPolicy', 'valid values: "OnFailure", "Never"'));
  }
  const immutableFields = ['completions', 'selector', 'template', 'completionMode'];
  return [...causes, ...checkImmutable('spec', spec, old && specOf(old), immutableFields)];
});

export const WORKLOAD_RULES: RulesByKind = {
  'apps/Deployment': () => ({ generation: true, update: deploymentUpdate, violations: replicated('selector') }),
  'apps/ReplicaSet': () => ({ generation: true, violations: replicated('selector') }),
  'apps/StatefulSet': () => ({ generation: true, violations: statefulSetViolations }),
  'apps/DaemonSet': () => daemonSet,
  'batch/Job': () => ({
    generation: true,
    create: newJob,
    fields: (object) => ({ 'status.successful': textOf(objectOf(object['status'])['succeeded'], '0') }),
    violations: jobViolations,
  }),
};
