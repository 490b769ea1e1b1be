// Command drydock-apiserver-1.32 is an older kube-apiserver, for the sandbox: the last minor release that lets alone
// what was illegal before on the main endpoint only, and not when the status is written.
//
//	drydock-apiserver-1.32 kube-apiserver [kube-apiserver's own flags]
//
// It ends when its standard input reaches its end: the launcher holds the other end of that pipe, so no death of the
// launcher, not even by SIGKILL, leaves a server behind.
package main

import (
	"fmt"
	"io"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != "kube-apiserver" {
		fmt.Fprintln(os.Stderr, "usage: drydock-apiserver-1.32 kube-apiserver [flags]")
		os.Exit(2)
	}
	go exitWithParent()
	command := app.NewAPIServerCommand()
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}

// exitWithParent ends the process at the end of standard input. It does so at once rather than gracefully: whoever
// wanted the data is gone.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
