import { canaryUnsupported } from '../canary/steps.ts';
import type { ImageFacts } from '../image-facts.ts';
import type { SetOutcome } from '../status/subject.ts';
import { canaryFault } from './canary-machine.ts';
import { BASE, clonesOf, isClone, RELEASE, RETIRED } from './clone.ts';
import { classFacts, sameValue, variableFault, variablePlace } from './cluster-class.ts';
import { type ImageLeaf, imageFault, imageIn, imageLeafOf, imageName } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';
import type { ImageThere, Rotation, RotationStep, RotationWish } from './rotation.ts';
import { isPaused, type RotatedSet, setText } from './set.ts';

type Stop = Omit<Extract<SetOutcome, { readonly kind: 'skip' }>, 'kind' | 'counted' | 'nextStep'> & {
  readonly nextStep?: string;
};

const skip = (stop: Stop, facts: ImageFacts = {}): RotationStep => ({
  kind: 'settled',
  outcome: { ...facts, kind: 'skip', counted: true, ...stop },
});

const blocked = ({ reason, message, nextStep }: Stop, facts: ImageFacts = {}): RotationStep => ({
  kind: 'settled',
  outcome: {
    ...{ ...facts, kind: 'failed', blocked: true, reason, message },
    ...(nextStep === undefined ? {} : { nextStep }),
  },
});

const waiting = (stop: Stop, facts: ImageFacts = {}): RotationStep => ({
  kind: 'settled',
  outcome: { ...facts, kind: 'waiting', phase: 'Pending', ...stop },
});

/** The next step for one set. Pure; the first rule that applies wins. `there` undefined: not looked yet. */
export function decideRotation(seen: Rotation, wish: RotationWish, there?: ImageThere): RotationStep {
  const { set, cluster, template } = seen;
  const text = setText(set);
  if (set.object.metadata.deletionTimestamp !== undefined)
    return skip({ reason: 'Deleting', brief: 'being deleted', message: `${text} is being deleted` });
  if (wish.leftAlone !== undefined) return skip(wish.leftAlone);
  if (seen.otherAuthority !== undefined)
    return skip({
      ...{ reason: 'OtherAuthority', brief: 'authority is MachineAPI' },
      message: `${text} follows ${seen.otherAuthority}, which is managed there`,
    });
  const { reference } = set;
  if (reference === undefined)
    return skip({
      reason: 'NoTemplate',
      brief: 'no template',
      message: `${text} refers to no infrastructure template`,
    });
  const of = `${reference.kind.toLowerCase()} ${set.namespace}/${reference.name}`;
  if (!reference.kind.endsWith('Template'))
    return skip({
      ...{ reason: 'NotATemplate', brief: `${reference.kind} is no template` },
      message: `${text} is made of ${of}, which is no template that could be rotated`,
      nextStep: `change the image in ${of} itself`,
    });
  const leaf = imageLeafOf(reference, wish.imagePaths);
  if (leaf === undefined)
    return skip({
      ...{ reason: 'UnknownInfrastructure', brief: `${reference.kind} is not known` },
      message: `where ${of} names its image is not known`,
      nextStep: `put {group: ${reference.group}, kind: ${reference.kind}, path: /spec/…} into spec.clusterAPI.imagePaths of a BootImagePolicy`,
    });
  if (leaf === 'bad')
    return blocked({
      ...{ reason: 'ImagePathInvalid', brief: 'no path' },
      message: `what ${wish.policy ?? 'the policy'} says of ${reference.kind}.${reference.group} is no pointer below /spec/ without indexes`,
      nextStep: `correct spec.clusterAPI.imagePaths of ${wish.policy ?? 'the policy'}`,
    });
  if (template === undefined)
    return blocked({
      ...{ reason: 'TemplateMissing', brief: 'template missing' },
      message: `${text} refers to ${of}, which is not there`,
      nextStep: `apply ${of}, or point ${text} at a template that is there`,
    });
  const fault = imageFault(template, leaf);
  if (fault !== undefined)
    return blocked({
      reason: 'ImagePathInvalid',
      brief: 'no image',
      message: `${of}: ${fault}`,
      nextStep: `correct ${of}, or the path that ${wish.policy ?? 'the policy'} gives`,
    });
  const named = imageIn(template, leaf);
  const own = template.metadata.annotations?.[RELEASE];
  const current =
    there?.current ?? (template.metadata.annotations?.[BASE] === undefined ? undefined : own) ?? imageName(named);
  const facts: ImageFacts = current === undefined ? {} : { current };
  const image = wish.image(leaf, template);
  if (image.kind === 'none') {
    const { kind: _, blocked: wrong, target, ...stop } = image;
    const told = target === undefined ? facts : { ...facts, target };
    return wrong ? blocked(stop, told) : skip(stop, told);
  }
  if (there === undefined) return { kind: 'look', leaf, image };
  const moving: ImageFacts = { ...facts, target: image.release };
  if (there.image !== undefined && named === there.image)
    return {
      kind: 'settled',
      outcome: {
        ...{ kind: 'current', current: image.release, target: image.release },
        ...(image.kind === 'named' && image.pinned === true ? { pinned: true } : {}),
      },
    };
  if (cluster === undefined)
    return blocked(
      {
        ...{ reason: 'ClusterMissing', brief: 'no cluster' },
        message: `${text} belongs to cluster ${set.namespace}/${set.clusterName ?? '(none named)'}, which is not there`,
        nextStep: `apply the Cluster, or correct spec.clusterName of ${text}`,
      },
      moving,
    );
  const refused = set.byClass ? classRefusal(seen, cluster, wish, leaf) : undefined;
  if (refused !== undefined) return refused.wrong ? blocked(refused.stop, moving) : skip(refused.stop, moving);
  const rolling = [set, ...seen.siblings].filter(({ rolls }) => rolls === 'at once');
  if (rolling.length > 0 && !wish.rollout) return skip(notAllowed(set, rolling, wish), moving);
  const wait = waitsFor(seen, cluster, wish);
  if (wait !== undefined) return waiting(wait, moving);
  const untried = wish.canary === undefined ? undefined : canaryFault(seen, leaf);
  if (wish.canary !== undefined && untried !== undefined) {
    const { code, message, nextStep } = canaryUnsupported(text, wish.canary.policy.name, untried);
    return blocked(
      { reason: code, brief: 'no canary', message, ...(nextStep === undefined ? {} : { nextStep }) },
      moving,
    );
  }
  if (there.image === undefined) return { kind: 'publish', leaf, image, facts: moving };
  if (wish.canary !== undefined && there.tried !== true)
    return { kind: 'try', leaf, image: there.image, wish: wish.canary, facts: moving };
  if (set.byClass) return variableStep(seen, cluster, wish.classVariable ?? '', there.image, moving);
  for (const clone of clonesOf(template, leaf, { image: there.image, release: image.release })) {
    const found = seen.beside(clone.metadata.name);
    if (found === undefined) return { kind: 'clone', template: clone, facts: moving };
    if (!isClone(found, clone) || found.metadata.deletionTimestamp !== undefined) continue;
    if (found.metadata.annotations?.[RETIRED] !== undefined) return { kind: 'keep', template: found, facts: moving };
    return { kind: 'point', from: reference.name, to: found.metadata.name, facts: moving };
  }
  return blocked(
    {
      ...{ reason: 'NamesTaken', brief: 'names are taken' },
      message: `every name that a copy of ${of} could have is taken by something else`,
      nextStep: `delete what begins with ${of}- and bears annotation ${BASE}, unless something refers to it`,
    },
    moving,
  );
}

function notAllowed(set: RotatedSet, rolling: readonly RotatedSet[], { policy }: RotationWish): Stop {
  const replicas = rolling.reduce((sum, one) => sum + one.replicas, 0);
  const nodes = `${replicas} ${replicas === 1 ? 'node' : 'nodes'}`;
  const whose = rolling.map((one) => setText(one)).join(', ');
  const allow = `'{"spec":{"clusterAPI":{"rollout":"Allow"}}}'`;
  const name = policy?.split(' ').at(-1);
  return {
    ...{ reason: 'RolloutNotAllowed', brief: `would roll ${nodes}` },
    message: `another image of ${setText(set)} would roll ${nodes} of ${whose}, and no policy allows that`,
    nextStep:
      name === undefined
        ? `allow it in a BootImagePolicy that selects it: spec.clusterAPI.rollout: Allow`
        : `kubectl patch bootimagepolicy ${name} --type merge -p ${allow}`,
  };
}

function waitsFor(seen: Rotation, cluster: ClusterApiObject, wish: RotationWish): Stop | undefined {
  const { set, remediated } = seen;
  const text = setText(set);
  if (isPaused(cluster))
    return {
      ...{ reason: 'Paused', brief: 'cluster is paused' },
      message: `cluster ${set.namespace}/${cluster.metadata.name} is paused`,
      nextStep: `when it may go on: kubectl patch cluster ${cluster.metadata.name} -n ${set.namespace} --type merge -p '{"spec":{"paused":false}}'`,
    };
  if (set.paused)
    return {
      reason: 'Paused',
      brief: 'paused',
      message: `${text} is paused`,
      nextStep: `it goes on when ${text} is not paused any more`,
    };
  if (remediated.length > 0)
    return {
      reason: 'Remediating',
      brief: 'remediation runs',
      message: `machines of ${text} are unhealthy and are replaced: ${remediated.slice(0, 3).join(', ')}${remediated.length > 3 ? ` and ${remediated.length - 3} more` : ''}`,
    };
  const busy = [set, ...seen.siblings].find((one) => one.busy !== undefined);
  if (busy !== undefined)
    return { reason: 'RolloutRunning', brief: 'rollout runs', message: `${setText(busy)}: ${busy.busy}` };
  const behind = seen.siblings.find(({ version }) => version !== set.version);
  if (behind !== undefined)
    return {
      ...{ reason: 'UpgradeRunning', brief: 'upgrade runs' },
      message: `${setText(behind)} has version ${behind.version ?? '(none)'} and ${text} has ${set.version ?? '(none)'}, and both get their image from one variable`,
    };
  return wish.waits;
}

function classRefusal(
  seen: Rotation,
  cluster: ClusterApiObject,
  { classVariable, policy = 'a BootImagePolicy that selects it' }: RotationWish,
  leaf: ImageLeaf,
): { readonly wrong: boolean; readonly stop: Stop } | undefined {
  const { set, clusterClass } = seen;
  const text = setText(set);
  const facts = classFacts(set, cluster, clusterClass, leaf);
  const [variable] = facts.variables;
  if (classVariable === undefined) {
    const what =
      variable !== undefined
        ? `variable ${facts.variables.join(' or ')} of cluster ${set.namespace}/${cluster.metadata.name}`
        : facts.template === undefined
          ? `a template of ClusterClass ${facts.name}`
          : `${facts.template.kind.toLowerCase()} ${facts.template.name} of ClusterClass ${facts.name}`;
    return {
      wrong: false,
      stop: {
        ...{ reason: 'ManagedByClusterClass', brief: `change ${variable ?? `class ${facts.name}`}` },
        message: `${text} is made by ClusterClass ${facts.name}: its image comes from ${what}`,
        nextStep:
          variable === undefined
            ? `change ${what}`
            : `change it, or put spec.clusterAPI.classVariable: ${variable} into ${policy}`,
      },
    };
  }
  const fault = !facts.found ? `ClusterClass ${facts.name} is not there` : variableFault(clusterClass, classVariable);
  if (fault === undefined) return undefined;
  return {
    wrong: true,
    stop: {
      ...{ reason: 'ClassVariableInvalid', brief: `variable ${classVariable}` },
      message: `${text}, of ClusterClass ${facts.name}: ${fault}`,
      nextStep: `correct spec.clusterAPI.classVariable of ${policy}`,
    },
  };
}

function variableStep(
  { set }: Rotation,
  cluster: ClusterApiObject,
  variable: string,
  value: string,
  facts: ImageFacts,
): RotationStep {
  const place = variablePlace(set, cluster, variable);
  if (place.current !== undefined && typeof place.current !== 'string')
    return blocked(
      {
        ...{ reason: 'ClassVariableInvalid', brief: `variable ${variable}` },
        message: `variable ${variable} of cluster ${set.namespace}/${cluster.metadata.name} has a value that is no string`,
        nextStep: `correct spec.topology.variables of the cluster`,
      },
      facts,
    );
  if (sameValue(place.current, value))
    return waiting(
      {
        ...{ reason: 'TopologyPending', brief: 'topology follows' },
        message: `variable ${variable} of cluster ${set.namespace}/${cluster.metadata.name} names the image, and ${setText(set)} does not yet`,
      },
      facts,
    );
  return { kind: 'variable', cluster, variable, place, value, facts };
}
