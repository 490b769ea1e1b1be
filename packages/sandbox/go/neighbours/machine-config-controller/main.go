// Runs the boot image controller of machine-config-operator alone: the neighbour beside which nothing that it manages may be written.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	configclientset "github.com/openshift/client-go/config/clientset/versioned"
	configinformers "github.com/openshift/client-go/config/informers/externalversions"
	machineclientset "github.com/openshift/client-go/machine/clientset/versioned"
	machineinformers "github.com/openshift/client-go/machine/informers/externalversions"
	operatorclientset "github.com/openshift/client-go/operator/clientset/versioned"
	operatorinformers "github.com/openshift/client-go/operator/informers/externalversions"
	"github.com/openshift/library-go/pkg/operator/configobserver/featuregates"
	machineset "github.com/openshift/machine-config-operator/pkg/controller/machine-set-boot-image"
	mcoversion "github.com/openshift/machine-config-operator/pkg/version"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	machineAPI    = "openshift-machine-api"
	machineConfig = "openshift-machine-config-operator"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "whom it acts as")
	// It waits until the golden ConfigMap has these two.
	flag.StringVar(&mcoversion.ReleaseVersion, "release", mcoversion.ReleaseVersion, "release that it belongs to")
	flag.StringVar(&mcoversion.Hash, "hash", mcoversion.Hash, "commit that it was built from")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	config.UserAgent = "machine-config-controller"
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		// The launcher holds standard input: its end is the launcher's.
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended <- syscall.SIGTERM
	}()
	stop := make(chan struct{})
	go func() {
		<-ended
		close(stop)
	}()
	return control(config, stop)
}

func control(config *rest.Config, stop <-chan struct{}) error {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	machines, err := machineclientset.NewForConfig(config)
	if err != nil {
		return err
	}
	operators, err := operatorclientset.NewForConfig(config)
	if err != nil {
		return err
	}
	configs, err := configclientset.NewForConfig(config)
	if err != nil {
		return err
	}
	const never = 24 * time.Hour
	coreFactory := informers.NewSharedInformerFactoryWithOptions(kube, never, informers.WithNamespace(machineConfig))
	machineFactory := machineinformers.NewSharedInformerFactoryWithOptions(machines, never, machineinformers.WithNamespace(machineAPI))
	configFactory := configinformers.NewSharedInformerFactory(configs, never)
	operatorFactory := operatorinformers.NewSharedInformerFactory(operators, never)
	controller := machineset.New(
		kube, machines,
		coreFactory.Core().V1().ConfigMaps(),
		machineFactory.Machine().V1beta1().MachineSets(),
		configFactory.Config().V1().Infrastructures(),
		operators,
		operatorFactory.Operator().V1().MachineConfigurations(),
		featuregates.NewHardcodedFeatureGateAccess(nil, nil),
	)
	coreFactory.Start(stop)
	machineFactory.Start(stop)
	configFactory.Start(stop)
	operatorFactory.Start(stop)
	coreFactory.WaitForCacheSync(stop)
	machineFactory.WaitForCacheSync(stop)
	configFactory.WaitForCacheSync(stop)
	operatorFactory.WaitForCacheSync(stop)
	// The launcher waits for this line.
	fmt.Println("machine-config-controller: boot images")
	controller.Run(stop)
	return nil
}
