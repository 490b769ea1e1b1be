module drydock.dev/sandbox/crds-4.21

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require github.com/openshift/api v0.0.0-20251015095338-264e80a2b6e7
