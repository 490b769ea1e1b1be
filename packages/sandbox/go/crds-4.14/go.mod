module drydock.dev/sandbox/crds-4.14

go 1.24.0

// Only a pin: the CRDs of this version are copied out of the module, no code is built.
require github.com/openshift/api v0.0.0-20230607130528-611114dca681
