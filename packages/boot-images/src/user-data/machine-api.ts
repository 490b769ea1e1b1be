/** Namespace of machine-api's sets, machines and user-data secrets. */
export const machineApiNamespace = 'openshift-machine-api';
