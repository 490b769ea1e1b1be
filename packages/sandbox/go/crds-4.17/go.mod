module drydock.dev/sandbox/crds-4.17

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require github.com/openshift/api v0.0.0-20240527133614-ba11c1587003
