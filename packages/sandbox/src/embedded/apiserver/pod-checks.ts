import type { StatusCause } from '@drydock/kube/testing/api-server';
import { type Draft, each, part, textOf } from './draft.ts';
import {
  checkDnsLabel,
  checkNotNegative,
  checkPort,
  checkSupported,
  duplicate,
  invalidValue,
  notFoundValue,
  required,
} from './field-errors.ts';
import { selects } from './label-selectors.ts';
import { parseQuantity } from './resource-quantity.ts';

// Validation of pods and of the templates of workloads, as far as its rules say why a pod would not run.

const POLICIES = ['Always', 'Never', 'OnFailure'];
const DNS_POLICIES = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

/** What is wrong with a PodSpec at a path. */
export function podSpecViolations(spec: Draft, path: string, policies: readonly string[] = POLICIES): StatusCause[] {
  const causes: StatusCause[] = [];
  const volumes = new Set<unknown>();
  for (const [at, volume] of each(spec, 'volumes').entries()) {
    const field = `${path}.volumes[${at}].name`;
    const { name } = volume;
    if (name === '') causes.push(required(field));
    else {
      causes.push(...checkDnsLabel(field, name));
      if (volumes.has(name)) causes.push(duplicate(field, name));
    }
    volumes.add(name);
  }
  const names = new Set<unknown>();
  if (each(spec, 'containers').length === 0) causes.push(required(`${path}.containers`));
  for (const list of ['containers', 'initContainers']) {
    for (const [at, one] of each(spec, list).entries()) {
      causes.push(...containerViolations(one, `${path}.${list}[${at}]`, volumes, names));
    }
  }
  const { restartPolicy, dnsPolicy } = spec;
  if (policies === POLICIES) causes.push(...checkSupported(`${path}.restartPolicy`, restartPolicy, POLICIES));
  causes.push(...checkSupported(`${path}.dnsPolicy`, dnsPolicy, DNS_POLICIES));
  causes.push(...checkNotNegative(`${path}.terminationGracePeriodSeconds`, spec['terminationGracePeriodSeconds']));
  return causes;
}

function containerViolations(
  one: Draft,
  path: string,
  volumes: ReadonlySet<unknown>,
  names: Set<unknown>,
): StatusCause[] {
  const causes: StatusCause[] = [];
  const { name, image } = one;
  if (name === '') causes.push(required(`${path}.name`));
  else {
    causes.push(...checkDnsLabel(`${path}.name`, name));
    if (names.has(name)) causes.push(duplicate(`${path}.name`, name));
  }
  names.add(name);
  if (image === '' || image === undefined) causes.push(required(`${path}.image`));
  causes.push(...checkSupported(`${path}.imagePullPolicy`, one['imagePullPolicy'], PULL_POLICIES));
  for (const [at, port] of each(one, 'ports').entries()) {
    const field = `${path}.ports[${at}]`;
    if (port['containerPort'] === 0) causes.push(required(`${field}.containerPort`));
    else causes.push(...checkPort(`${field}.containerPort`, port['containerPort']));
    causes.push(...checkSupported(`${field}.protocol`, port['protocol'], PROTOCOLS));
  }
  for (const [at, variable] of each(one, 'env').entries()) {
    if (variable['name'] === '') causes.push(required(`${path}.env[${at}].name`));
  }
  const paths = new Set<unknown>();
  for (const [at, mount] of each(one, 'volumeMounts').entries()) {
    const field = `${path}.volumeMounts[${at}]`;
    if (mount['name'] === '') causes.push(required(`${field}.name`));
    else if (!volumes.has(mount['name'])) causes.push(notFoundValue(`${field}.name`, mount['name']));
    const { mountPath } = mount;
    if (mountPath === '') causes.push(required(`${field}.mountPath`));
    else if (paths.has(mountPath)) causes.push(invalidValue(`${field}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
  }
  const limits = part(one, 'resources', 'limits') ?? {};
  for (const [resource, asked] of Object.entries(part(one, 'resources', 'requests') ?? {})) {
    const limit = limits[resource];
    if (limit === undefined) continue;
    const [more, most] = [parseQuantity(textOf(asked)), parseQuantity(textOf(limit))];
    if (more !== undefined && most !== undefined && more.nanos > most.nanos) {
      const said = `must be less than or equal to ${resource} limit of ${textOf(limit)}`;
      causes.push(invalidValue(`${path}.resources.requests`, asked, said));
    }
  }
  return causes;
}

/** What is wrong with the selector and the template of a workload. */
export function templateViolations(spec: Draft, policies: readonly string[]): StatusCause[] {
  const causes: StatusCause[] = [];
  const selector = part(spec, 'selector');
  const labels = part(spec, 'template', 'metadata', 'labels') ?? {};
  const empty =
    Object.keys(part(selector, 'matchLabels') ?? {}).length === 0 && each(selector, 'matchExpressions').length === 0;
  if (selector === undefined) causes.push(required('spec.selector'));
  else if (empty) causes.push(invalidValue('spec.selector', selector, 'empty selector is invalid for deployment'));
  if (selector === undefined || (!empty && !selects(selector, labels))) {
    const said = '`selector` does not match template `labels`';
    causes.push(invalidValue('spec.template.metadata.labels', Object.keys(labels).length === 0 ? null : labels, said));
  }
  const inner = part(spec, 'template', 'spec') ?? {};
  causes.push(...podSpecViolations(inner, 'spec.template.spec', policies));
  causes.push(...checkSupported('spec.template.spec.restartPolicy', inner['restartPolicy'], policies));
  return causes;
}

/** The quality-of-service class of a pod. */
export function qosClass(spec: Draft): string {
  const containers = [...each(spec, 'containers'), ...each(spec, 'initContainers')];
  let any = false;
  let guaranteed = true;
  for (const one of containers) {
    const requests = part(one, 'resources', 'requests') ?? {};
    const limits = part(one, 'resources', 'limits') ?? {};
    for (const resource of ['cpu', 'memory']) {
      if (resource in requests || resource in limits) any = true;
      if (!(resource in limits) || requests[resource] !== limits[resource]) guaranteed = false;
    }
  }
  return !any ? 'BestEffort' : guaranteed ? 'Guaranteed' : 'Burstable';
}
