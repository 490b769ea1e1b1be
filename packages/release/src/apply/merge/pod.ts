import { type JsonObject, jsonText } from '@drydock/crd';
import { textIn } from '../json.ts';
import { KEYED, type Rule, WANTED } from './combine.ts';

/** An object that is what the manifest says, with what the server puts where it says nothing. */
function object(
  defaults: JsonObject,
  fields: Readonly<Record<string, Rule>> = {},
  filled: readonly string[] = [],
): Rule {
  return { as: 'object', defaults, fields, filled };
}

/** Items of a list that are told apart by one of their fields. */
export function listBy(field: string, item: Rule): Rule {
  return { as: 'list', key: (one) => textIn(one, field), item };
}

/** Items of a list that are told apart by where they are. */
export function listInOrder(item: Rule): Rule {
  return { as: 'list', key: (_one, index) => `${index}`, item };
}

const FIELD_REF = object({ apiVersion: 'v1' });

const HANDLER: Readonly<Record<string, Rule>> = {
  httpGet: object({ scheme: 'HTTP', path: '/' }),
  grpc: object({ service: '' }),
};

const PROBE = object(
  { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3, initialDelaySeconds: 0 },
  HANDLER,
);

const LIFECYCLE = object({}, { postStart: object({}, HANDLER), preStop: object({}, HANDLER) });

/** A port by its number, since most have no name. */
const CONTAINER_PORT: Rule = {
  as: 'list',
  key: (port) => `${jsonText(port['containerPort'])}/${textIn(port, 'protocol') || 'TCP'}`,
  // With the host's network the server gives the same port of the host.
  item: object({ protocol: 'TCP' }, {}, ['hostPort']),
};

const CONTAINER = object(
  {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    resources: {},
    stdin: false,
    stdinOnce: false,
    tty: false,
  },
  {
    env: listBy('name', object({ value: '' }, { valueFrom: object({}, { fieldRef: FIELD_REF }) })),
    ports: CONTAINER_PORT,
    volumeMounts: listBy('mountPath', object({ readOnly: false })),
    resources: object({}),
    livenessProbe: PROBE,
    readinessProbe: PROBE,
    startupProbe: PROBE,
    lifecycle: LIFECYCLE,
  },
  // It depends on the tag of the image.
  ['imagePullPolicy'],
);

const SOURCE = object(
  {},
  {
    serviceAccountToken: object({ expirationSeconds: 3600 }),
    downwardAPI: object({}, { items: listInOrder(object({}, { fieldRef: FIELD_REF })) }),
  },
);

const VOLUME = object(
  {},
  {
    configMap: object({ defaultMode: 420 }),
    secret: object({ defaultMode: 420 }),
    hostPath: object({ type: '' }),
    projected: object({ defaultMode: 420 }, { sources: listInOrder(SOURCE) }),
    downwardAPI: object({ defaultMode: 420 }, { items: listInOrder(object({}, { fieldRef: FIELD_REF })) }),
  },
);

const containers = listBy('name', CONTAINER);

const POD_SPEC: Rule = {
  as: 'object',
  keeps: true,
  defaults: { hostNetwork: false, hostPID: false, hostIPC: false },
  fields: {
    initContainers: containers,
    containers,
    volumes: listBy('name', VOLUME),
    nodeSelector: KEYED,
    affinity: WANTED,
    securityContext: WANTED,
  },
};

/** The template of a workload. */
export const POD_TEMPLATE: Rule = {
  as: 'object',
  keeps: true,
  fields: { metadata: { as: 'object', keeps: true, fields: { labels: KEYED, annotations: KEYED } }, spec: POD_SPEC },
};
