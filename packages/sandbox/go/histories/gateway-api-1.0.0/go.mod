module drydock.dev/sandbox/histories/gateway-api-1.0.0

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require sigs.k8s.io/gateway-api v1.0.0
