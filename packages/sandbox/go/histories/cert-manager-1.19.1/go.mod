module drydock.dev/sandbox/histories/cert-manager-1.19.1

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require github.com/cert-manager/cert-manager v1.19.1
