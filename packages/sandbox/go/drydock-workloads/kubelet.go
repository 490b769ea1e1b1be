package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

// kubelet plays the kubelets of all nodes: it says of each pod that is bound what a kubelet would say if the pod
// behaved as its rules want it.
type kubelet struct {
	client kubernetes.Interface
	pods   listers.PodLister
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	rules  *rules
	// addresses counts the pods that got one.
	addresses int
}

func runKubelet(args []string) error {
	flags := flag.NewFlagSet("kubelet", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "file of whom it acts as")
	nodes := flags.Int("nodes", 3, "how many nodes there are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := range *nodes {
		if err := startNode(ctx, client, i); err != nil {
			return err
		}
	}
	bound := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}))
	informer := bound.Core().V1().Pods()
	k := &kubelet{
		client: client,
		pods:   informer.Lister(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](10*time.Millisecond, 5*time.Second)),
		rules:  &rules{},
	}
	add := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			k.queue.Add(name)
		}
	}
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	}); err != nil {
		return err
	}
	bound.Start(ctx.Done())
	bound.WaitForCacheSync(ctx.Done())
	go k.work(ctx)
	return k.serve()
}

// serve says on standard output where rules are set, and stays.
func (k *kubelet) serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	http.HandleFunc("GET /rules", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(k.rules.all())
	})
	http.HandleFunc("PUT /rules", func(w http.ResponseWriter, r *http.Request) {
		var next []rule
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&next)
		if err == nil {
			err = k.rules.set(next)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, name := range k.known() {
			k.queue.Add(name)
		}
	})
	fmt.Printf("{\"kubelet\":\"http://%s\"}\n", listener.Addr())
	return http.Serve(listener, nil)
}

func (k *kubelet) known() []cache.ObjectName {
	pods, _ := k.pods.List(everything)
	names := make([]cache.ObjectName, 0, len(pods))
	for _, pod := range pods {
		names = append(names, cache.MetaObjectToName(pod))
	}
	return names
}

func (k *kubelet) work(ctx context.Context) {
	for {
		name, ended := k.queue.Get()
		if ended {
			return
		}
		again, err := k.look(ctx, name)
		switch {
		case err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			fmt.Fprintln(os.Stderr, name, err)
			k.queue.AddRateLimited(name)
		case err != nil:
			// The watch brings what it is now.
			k.queue.Forget(name)
		case again > 0:
			k.queue.Forget(name)
			k.queue.AddAfter(name, again)
		default:
			k.queue.Forget(name)
		}
		k.queue.Done(name)
	}
}

// look writes what is to be said of a pod, and returns after which time it will be something else; 0 for never.
func (k *kubelet) look(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return 0, err
	}
	how, again := k.rules.of(pod, time.Now())
	if pod.DeletionTimestamp != nil {
		return again, k.end(ctx, pod, how)
	}
	next := k.statusOf(pod, how)
	if next == nil {
		return again, nil
	}
	return again, k.say(ctx, pod, next)
}

// end lets a pod that was deleted go.
func (k *kubelet) end(ctx context.Context, pod *corev1.Pod, how behaviour) error {
	if how == hang {
		return nil
	}
	// A Job counts a pod that went while it ran only if it was seen to have failed.
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		if err := k.say(ctx, pod, k.statusOf(pod, fail)); err != nil {
			return err
		}
	}
	now := int64(0)
	return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
}
