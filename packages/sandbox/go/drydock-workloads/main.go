// Command drydock-workloads is what makes pods of Deployments in the sandbox: controllers, a scheduler, and a kubelet
// that runs nothing.
//
//	drydock-workloads kube-controller-manager [its own flags]
//	drydock-workloads kube-scheduler [its own flags]
//	drydock-workloads kubelet --kubeconfig FILE [--nodes N]
//
// The first two are upstream's own. All end when their standard input reaches its end: the launcher holds the other end
// of that pipe, so no death of the launcher, not even by SIGKILL, leaves a server behind.
package main

import (
	"fmt"
	"io"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const usage = "usage: drydock-workloads <kube-controller-manager|kube-scheduler|kubelet> [flags]"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	go exitWithParent()
	role, rest := os.Args[1], os.Args[2:]
	switch role {
	case "kube-controller-manager":
		command := controllers.NewControllerManagerCommand()
		command.SetArgs(rest)
		os.Exit(cli.Run(command))
	case "kube-scheduler":
		command := scheduler.NewSchedulerCommand()
		command.SetArgs(rest)
		os.Exit(cli.Run(command))
	case "kubelet":
		if err := runKubelet(rest); err != nil {
			fmt.Fprintln(os.Stderr, "kubelet:", err)
			os.Exit(1)
		}
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
