#!/bin/sh
# Starts Drydock with the Node beside it, wherever the folder lies and through however many links this is called.
self=$0
case $self in */*) ;; *) self=$(command -v -- "$self") ;; esac
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=${self%/*}/$link ;; esac
done
here=${self%/*}
case ${0##*/} in
  kubectl_complete-*) main=kubectl_complete-drydock ;;
  kubectl-*) main=kubectl-drydock ;;
  *) main=drydock.js ;;
esac
exec "$here/node" "$here/../apps/drydock/bin/$main" "$@"
