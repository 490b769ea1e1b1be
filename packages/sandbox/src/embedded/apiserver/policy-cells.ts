import { listAt, textAt, valueAt } from './object-fields.ts';
import {
  type Cell,
  type Cells,
  type CellsByKind,
  condition,
  count,
  flag,
  NONE,
  number,
  text,
  UNSET,
} from './table-cells.ts';

/** The subjects of a kind in a binding. */
const subjects =
  (kind: string): Cell =>
  (object) =>
    listAt(object, 'subjects')
      .filter((subject) => textAt(subject, 'kind') === kind)
      .map((subject) => {
        const name = textAt(subject, 'name');
        return kind === 'ServiceAccount' ? `${textAt(subject, 'namespace')}/${name}` : name;
      })
      .join(', ');

const BINDING: Cells = {
  Role: (object) => `${textAt(object, 'roleRef.kind')}/${textAt(object, 'roleRef.name')}`,
  Users: subjects('User'),
  Groups: subjects('Group'),
  ServiceAccounts: subjects('ServiceAccount'),
};

const WEBHOOKS: Cells = { Webhooks: count('webhooks') };

const limited = (path: string): Cell => {
  const whole = `spec.limited.${path}`;
  return (object) => valueAt(object, whole) ?? NONE;
};

export const POLICY_CELLS: CellsByKind = {
  'rbac.authorization.k8s.io/rolebindings': BINDING,
  'rbac.authorization.k8s.io/clusterrolebindings': BINDING,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': WEBHOOKS,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': WEBHOOKS,
  'admissionregistration.k8s.io/validatingadmissionpolicies': {
    Validations: count('spec.validations'),
    ParamKind: (object) => {
      const kind = textAt(object, 'spec.paramKind.kind');
      return kind === '' ? UNSET : `${textAt(object, 'spec.paramKind.apiVersion')}/${kind}`;
    },
  },
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': {
    PolicyName: text('spec.policyName'),
    ParamRef: (object) => {
      const name = textAt(object, 'spec.paramRef.name');
      return name === '' ? UNSET : `${textAt(object, 'spec.paramRef.namespace') || '*'}/${name}`;
    },
  },
  'scheduling.k8s.io/priorityclasses': {
    Value: number('value'),
    'Global-Default': flag('globalDefault'),
    PreemptionPolicy: text('preemptionPolicy'),
  },
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': {
    Type: text('spec.type'),
    NominalConcurrencyShares: limited('nominalConcurrencyShares'),
    Queues: limited('limitResponse.queuing.queues'),
    HandSize: limited('limitResponse.queuing.handSize'),
    QueueLengthLimit: limited('limitResponse.queuing.queueLengthLimit'),
  },
  'flowcontrol.apiserver.k8s.io/flowschemas': {
    PriorityLevel: text('spec.priorityLevelConfiguration.name'),
    MatchingPrecedence: number('spec.matchingPrecedence'),
    DistinguisherMethod: text('spec.distinguisherMethod.type', NONE),
    MissingPL: condition('Dangling', '?'),
  },
};
