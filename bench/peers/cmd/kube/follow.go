package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// stamp is the annotation with the server's time of the write, in milliseconds since the epoch; see job.ts.
const stamp = "bench.drydock.dev/at"

// follower keeps a copy of a kind by a shared informer until the process ends, and is told of its updates.
type follower struct {
	mutex     sync.Mutex
	latencyMS []float64
	wanted    int
	enough    chan struct{}
	cpu       float64
}

func newFollower() *follower {
	return &follower{cpu: cpuSeconds(), enough: make(chan struct{})}
}

func (f *follower) follow(ctx context.Context, j *job) error {
	client, err := dynamic.NewForConfig(configOf(j))
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(j.Kind.resource()).Informer()
	if err := informer.SetTransform(withoutOwners); err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) { f.saw(object) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer of %s has not synced", j.Kind.Plural)
	}
	return nil
}

func withoutOwners(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func (f *follower) saw(object any) {
	now := float64(time.Now().UnixNano()) / 1e6
	accessor, err := meta.Accessor(object)
	if err != nil {
		return
	}
	at, err := strconv.ParseFloat(accessor.GetAnnotations()[stamp], 64)
	if err != nil {
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.latencyMS = append(f.latencyMS, now-at)
	if len(f.latencyMS) == f.wanted {
		close(f.enough)
	}
}

// updates lets the server update objects and waits until as many were seen.
func (f *follower) updates(j *job) (*result, error) {
	f.mutex.Lock()
	f.latencyMS, f.wanted, f.enough = make([]float64, 0, j.Count), j.Count, make(chan struct{})
	enough := f.enough
	f.mutex.Unlock()
	if err := askForUpdates(j); err != nil {
		return nil, err
	}
	<-enough
	// What was put off until after the updates before counts, too.
	before := f.cpu
	f.cpu = cpuSeconds()
	return &result{LatencyMS: f.latencyMS, CPUSeconds: f.cpu - before}, nil
}

func askForUpdates(j *job) error {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM([]byte(j.CA)) {
		return fmt.Errorf("the CA of %s is no PEM certificate", j.URL)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}
	query := url.Values{"plural": {j.Kind.Plural}, "count": {strconv.Itoa(j.Count)}}
	answer, err := (&http.Client{Transport: transport}).Get(j.URL + "/bench/updates?" + query.Encode())
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
