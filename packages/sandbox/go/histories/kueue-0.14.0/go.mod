module drydock.dev/sandbox/histories/kueue-0.14.0

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require sigs.k8s.io/kueue v0.14.0
