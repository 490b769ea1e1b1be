module drydock.dev/sandbox/histories/karpenter-1.8.0

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require sigs.k8s.io/karpenter v1.8.0
