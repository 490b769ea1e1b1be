// Command kube is the peer of bench/kube on client-go: one job per JSON line on stdin, each answered with a line of JSON; see job.ts.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Plural  string `json:"plural"`
	Count   int    `json:"count"`
}

func (k *kind) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Plural}
}

type job struct {
	URL    string `json:"url"`
	CA     string `json:"ca"`
	Do     string `json:"do"`
	Kind   kind   `json:"kind"`
	Count  int    `json:"count"`
	AtOnce int    `json:"atOnce"`
}

type result struct {
	PerSecond  float64   `json:"perSecond,omitempty"`
	CPUSeconds float64   `json:"cpuSeconds,omitempty"`
	HeapMB     float64   `json:"heapMB,omitempty"`
	LatencyMS  []float64 `json:"latencyMs,omitempty"`
}

// one is the object that is got; see job.ts.
const one = "object-0"

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	follower := newFollower()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		answer, err := run(ctx, follower, lines.Bytes())
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
			continue
		}
		_ = out.Encode(answer)
	}
}

func run(ctx context.Context, f *follower, line []byte) (*result, error) {
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	switch j.Do {
	case "gets":
		return gets(ctx, &j)
	case "list":
		return list(ctx, &j)
	case "follow":
		return &result{}, f.follow(ctx, &j)
	case "updates":
		return f.updates(&j)
	}
	return nil, fmt.Errorf("client-go has no job %q", j.Do)
}

// configOf has the default transport. What holds a client back to 5 requests a second is raised beyond reach.
func configOf(j *job) *rest.Config {
	return &rest.Config{
		Host: j.URL, BearerToken: "bench", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(j.CA)},
		QPS: 1e6, Burst: 1e6,
	}
}

func gets(ctx context.Context, j *job) (*result, error) {
	client, err := corev1.NewForConfig(configOf(j))
	if err != nil {
		return nil, err
	}
	return measureCalls(j.Count, j.AtOnce, func() error {
		_, err := client.ConfigMaps("namespace-0").Get(ctx, one, metav1.GetOptions{})
		return err
	})
}

// list keeps what it reads in a store, without its field owners.
func list(ctx context.Context, j *job) (*result, error) {
	before, cpu := keptHeapMB(), cpuSeconds()
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	if err := fill(ctx, store, j); err != nil {
		return nil, err
	}
	spent := cpuSeconds() - cpu
	heap := keptHeapMB() - before
	// Also keeps the store alive until here.
	if kept := len(store.ListKeys()); kept != j.Kind.Count {
		return nil, fmt.Errorf("%d objects instead of %d", kept, j.Kind.Count)
	}
	return &result{CPUSeconds: spent, HeapMB: heap}, nil
}

func fill(ctx context.Context, store cache.Store, j *job) error {
	if j.Kind.Group == "" {
		client, err := corev1.NewForConfig(configOf(j))
		if err != nil {
			return err
		}
		found, err := client.ConfigMaps("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for index := range found.Items {
			// A copy: what one object keeps is not the whole list.
			object := found.Items[index]
			object.ManagedFields = nil
			if err := store.Add(&object); err != nil {
				return err
			}
		}
		return nil
	}
	client, err := dynamic.NewForConfig(configOf(j))
	if err != nil {
		return err
	}
	found, err := client.Resource(j.Kind.resource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for index := range found.Items {
		object := found.Items[index]
		object.SetManagedFields(nil)
		if err := store.Add(&object); err != nil {
			return err
		}
	}
	return nil
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// keptHeapMB is the heap in use after a collection, in 10^6 bytes.
func keptHeapMB() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / 1e6
}
