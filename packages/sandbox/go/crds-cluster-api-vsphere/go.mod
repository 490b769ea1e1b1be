module drydock.dev/sandbox/crds-cluster-api-vsphere

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require sigs.k8s.io/cluster-api-provider-vsphere v1.14.0
