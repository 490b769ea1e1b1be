module drydock.dev/sandbox/histories/keda-2.12.0

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require github.com/kedacore/keda/v2 v2.12.0
