module drydock.dev/sandbox/histories/cluster-api-1.9.0

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require sigs.k8s.io/cluster-api v1.9.0
