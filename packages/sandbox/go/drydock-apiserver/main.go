// Command drydock-apiserver is etcd and kube-apiserver in one binary, for the sandbox.
//
//	drydock-apiserver etcd [etcd's own flags]
//	drydock-apiserver kube-apiserver [kube-apiserver's own flags]
//
// Both end when their standard input reaches its end: the launcher holds the other end of that pipe, so no death of
// the launcher, not even by SIGKILL, leaves a server behind.
package main

import (
	"fmt"
	"io"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

const usage = "usage: drydock-apiserver <etcd|kube-apiserver> [flags]"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	role, rest := os.Args[1], os.Args[2:]
	switch role {
	case "etcd":
		go exitWithParent()
		etcdmain.Main(append([]string{"etcd"}, rest...))
	case "kube-apiserver":
		go exitWithParent()
		command := app.NewAPIServerCommand()
		command.SetArgs(rest)
		os.Exit(cli.Run(command))
	default:
		fmt.Fprintf(os.Stderr, "unknown subcommand %q; %s\n", role, usage)
		os.Exit(2)
	}
}

// exitWithParent ends the process at the end of standard input. It does so at once rather than gracefully: whoever
// wanted the data is gone.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
