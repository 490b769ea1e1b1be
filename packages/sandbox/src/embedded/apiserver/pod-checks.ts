import type { StatusCause } from '@drydock/kube/testing/api-server';
import { duplicate, label, missing, notNegative, portNumber, required, unsupported, wrong } from './checks.ts';
import { type Draft, each, part, textOf } from './draft.ts';
import { parseQuantity } from './resource-quantity.ts';

// Validation of pods and of the templates of workloads, as far as its rules say why a pod would not run.

const POLICIES = ['Always', 'Never', 'OnFailure'];
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
      causes.push(...label(field, name));
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
  if (!policies.includes(String(restartPolicy))) {
    if (policies === POLICIES) causes.push(unsupported(`${path}.restartPolicy`, restartPolicy, POLICIES));
  }
  const dns = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
  if (!dns.includes(String(dnsPolicy))) causes.push(unsupported(`${path}.dnsPolicy`, dnsPolicy, dns));
  causes.push(...notNegative(`${path}.terminationGracePeriodSeconds`, spec['terminationGracePeriodSeconds']));
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
    causes.push(...label(`${path}.name`, name));
    if (names.has(name)) causes.push(duplicate(`${path}.name`, name));
  }
  names.add(name);
  if (image === '' || image === undefined) causes.push(required(`${path}.image`));
  const pull = one['imagePullPolicy'];
  if (!PULL_POLICIES.includes(String(pull))) causes.push(unsupported(`${path}.imagePullPolicy`, pull, PULL_POLICIES));
  for (const [at, port] of each(one, 'ports').entries()) {
    const field = `${path}.ports[${at}]`;
    if (port['containerPort'] === 0) causes.push(required(`${field}.containerPort`));
    else causes.push(...portNumber(`${field}.containerPort`, port['containerPort']));
    const { protocol } = port;
    if (!PROTOCOLS.includes(String(protocol))) causes.push(unsupported(`${field}.protocol`, protocol, PROTOCOLS));
  }
  for (const [at, variable] of each(one, 'env').entries()) {
    if (variable['name'] === '') causes.push(required(`${path}.env[${at}].name`));
  }
  const paths = new Set<unknown>();
  for (const [at, mount] of each(one, 'volumeMounts').entries()) {
    const field = `${path}.volumeMounts[${at}]`;
    if (mount['name'] === '') causes.push(required(`${field}.name`));
    else if (!volumes.has(mount['name'])) causes.push(missing(`${field}.name`, mount['name']));
    const { mountPath } = mount;
    if (mountPath === '') causes.push(required(`${field}.mountPath`));
    else if (paths.has(mountPath)) causes.push(wrong(`${field}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
  }
  const limits = part(one, 'resources', 'limits') ?? {};
  for (const [resource, asked] of Object.entries(part(one, 'resources', 'requests') ?? {})) {
    const limit = limits[resource];
    if (limit === undefined) continue;
    const [more, most] = [parseQuantity(textOf(asked)), parseQuantity(textOf(limit))];
    if (more !== undefined && most !== undefined && more.nanos > most.nanos) {
      const said = `must be less than or equal to ${resource} limit of ${textOf(limit)}`;
      causes.push(wrong(`${path}.resources.requests`, asked, said));
    }
  }
  return causes;
}

/** What is wrong with the selector and the template of a workload. */
export function templateViolations(
  spec: Draft,
  policies: readonly string[],
  selected: 'required' | 'compared' = 'required',
): StatusCause[] {
  const causes: StatusCause[] = [];
  const selector = part(spec, 'selector');
  const labels = part(spec, 'template', 'metadata', 'labels') ?? {};
  const empty =
    Object.keys(part(selector, 'matchLabels') ?? {}).length === 0 && each(selector, 'matchExpressions').length === 0;
  if (selector === undefined && selected === 'required') causes.push(required('spec.selector'));
  else if (selector !== undefined && empty)
    causes.push(wrong('spec.selector', selector, 'empty selector is invalid for deployment'));
  if (selector === undefined || (!empty && !selects(selector, labels))) {
    const said = '`selector` does not match template `labels`';
    causes.push(wrong('spec.template.metadata.labels', Object.keys(labels).length === 0 ? null : labels, said));
  }
  const own = part(spec, 'template', 'spec') ?? {};
  // A StatefulSet's claims are volumes of its pods, before their own.
  const claims = each(spec, 'volumeClaimTemplates').map((claim) => ({ name: part(claim, 'metadata')?.['name'] }));
  const inner: Draft = claims.length === 0 ? own : { ...own, volumes: [...claims, ...each(own, 'volumes')] };
  causes.push(...podSpecViolations(inner, 'spec.template.spec', policies));
  const { restartPolicy } = inner;
  if (!policies.includes(String(restartPolicy))) {
    causes.push(unsupported('spec.template.spec.restartPolicy', restartPolicy, policies));
  }
  return causes;
}

/** Whether a LabelSelector selects labels. */
export function selects(selector: Draft, labels: Readonly<Record<string, unknown>>): boolean {
  const equal = Object.entries(part(selector, 'matchLabels') ?? {}).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    each(selector, 'matchExpressions').every(({ key, operator, values }) => {
      const has = String(key) in labels;
      const inside = Array.isArray(values) && values.includes(labels[String(key)]);
      switch (operator) {
        case 'In':
          return has && inside;
        case 'NotIn':
          return !inside;
        case 'Exists':
          return has;
        case 'DoesNotExist':
          return !has;
        default:
          return false;
      }
    })
  );
}

/** A LabelSelector as text, as the scale subresource gives it. */
export function selectorText(selector: Draft | undefined): string {
  if (selector === undefined) return '';
  const equal = Object.entries(part(selector, 'matchLabels') ?? {}).map(([key, value]) => [
    key,
    `${key}=${String(value)}`,
  ]);
  const others = each(selector, 'matchExpressions').map(({ key, operator, values }) => {
    const list = Array.isArray(values)
      ? (values as unknown[])
          .map((one) => textOf(one))
          .sort()
          .join(',')
      : '';
    const name = String(key);
    switch (operator) {
      case 'In':
        return [name, `${name} in (${list})`];
      case 'NotIn':
        return [name, `${name} notin (${list})`];
      case 'Exists':
        return [name, name];
      default:
        return [name, `!${name}`];
    }
  });
  return [...equal, ...others]
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
    .map(([, text]) => text)
    .join(',');
}

/** How a pod is served when memory is short. */
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
