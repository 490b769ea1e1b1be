// Command release is the peer of bench/release: it applies the manifests of a folder as upstream's operator does, with client-go: each is got, merged in memory
// and updated where the merge has changed it, or made. One job per JSON line on stdin, each answered with a line of JSON; see job.ts.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

type job struct {
	Do     string `json:"do"`
	Folder string `json:"folder"`
	Mode   string `json:"mode"`
	Server struct {
		URL         string `json:"url"`
		CA          string `json:"ca"`
		Certificate string `json:"certificate"`
		PrivateKey  string `json:"privateKey"`
	} `json:"server"`
}

type result struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"`
	Requests   int64   `json:"requests"`
	Manifests  int64   `json:"manifests"`
	RSSMB      float64 `json:"rssMB"`
}

// node is what one worker applies in its order: a component of a runlevel.
type node []*unstructured.Unstructured

type peer struct {
	client   dynamic.Interface
	nodes    []node
	requests atomic.Int64
}

// Nodes at the same time while a release is held; a first installation has all of them.
const reconcileWorkers = 2

func main() {
	p := &peer{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		answer, err := p.run(context.Background(), lines.Bytes())
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
			continue
		}
		_ = out.Encode(answer)
	}
}

func (p *peer) run(ctx context.Context, line []byte) (*result, error) {
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	began, cpu, asked := time.Now(), cpuSeconds(), p.requests.Load()
	var done int64
	var err error
	switch j.Do {
	case "read":
		done, err = p.read(j.Folder)
	case "apply":
		done, err = p.apply(ctx, &j)
	default:
		err = fmt.Errorf("client-go has no job %q", j.Do)
	}
	if err != nil {
		return nil, err
	}
	return &result{
		Seconds: time.Since(began).Seconds(), CPUSeconds: cpuSeconds() - cpu,
		Requests: p.requests.Load() - asked, Manifests: done, RSSMB: highWaterMB(),
	}, nil
}

var placed = regexp.MustCompile(`^0000_(\d+)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*)_.+$`)

func (p *peer) read(folder string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(folder, "release-manifests", "*.yaml"))
	if err != nil {
		return 0, err
	}
	sort.Strings(files)
	p.nodes = nil
	last, count := "", int64(0)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(content); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		place := strings.Join(placed.FindStringSubmatch(filepath.Base(file))[1:], " ")
		if place != last {
			p.nodes, last = append(p.nodes, nil), place
		}
		p.nodes[len(p.nodes)-1] = append(p.nodes[len(p.nodes)-1], object)
		count++
	}
	return count, nil
}

// counted counts what is asked.
type counted struct {
	inner http.RoundTripper
	count *atomic.Int64
}

func (c *counted) RoundTrip(request *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.inner.RoundTrip(request)
}

func (p *peer) apply(ctx context.Context, j *job) (int64, error) {
	if p.client == nil {
		// What holds a client back to a few requests a second is raised beyond reach.
		config := &rest.Config{
			Host: j.Server.URL, QPS: 1e6, Burst: 1e6,
			TLSClientConfig: rest.TLSClientConfig{
				CAData: []byte(j.Server.CA), CertData: []byte(j.Server.Certificate), KeyData: []byte(j.Server.PrivateKey),
			},
			WrapTransport: func(inner http.RoundTripper) http.RoundTripper { return &counted{inner, &p.requests} },
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return 0, err
		}
		p.client = client
	}
	workers := reconcileWorkers
	if j.Mode == "initializing" {
		workers = len(p.nodes)
	}
	queue := make(chan node, len(p.nodes))
	for _, one := range p.nodes {
		queue <- one
	}
	close(queue)
	var done atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, workers)
	for range workers {
		group.Go(func() {
			for one := range queue {
				for _, manifest := range one {
					if err := p.tried(ctx, manifest); err != nil {
						failed <- err
						return
					}
					done.Add(1)
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return done.Load(), nil
	}
}

// tried applies one manifest, again where its namespace is still on its way.
func (p *peer) tried(ctx context.Context, manifest *unstructured.Unstructured) error {
	var err error
	for delay := time.Second; delay <= 8*time.Second; delay *= 2 {
		if err = p.one(ctx, manifest); err == nil {
			return nil
		}
		time.Sleep(delay)
	}
	return fmt.Errorf("%s %s: %w", manifest.GetKind(), manifest.GetName(), err)
}

func (p *peer) one(ctx context.Context, manifest *unstructured.Unstructured) error {
	kind := manifest.GroupVersionKind()
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"}
	var objects dynamic.ResourceInterface = p.client.Resource(resource)
	if namespace := manifest.GetNamespace(); namespace != "" {
		objects = p.client.Resource(resource).Namespace(namespace)
	}
	live, err := objects.Get(ctx, manifest.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = objects.Create(ctx, manifest, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	merged := live.DeepCopy()
	merged.Object = overlaid(merged.Object, manifest.Object).(map[string]any)
	if reflect.DeepEqual(live.Object, merged.Object) {
		return nil
	}
	_, err = objects.Update(ctx, merged, metav1.UpdateOptions{})
	return err
}

// overlaid is the live value with what the manifest says: of maps field by field, of lists of one length item by item.
func overlaid(live, wanted any) any {
	switch wanted := wanted.(type) {
	case map[string]any:
		into, ok := live.(map[string]any)
		if !ok {
			return wanted
		}
		for field, value := range wanted {
			into[field] = overlaid(into[field], value)
		}
		return into
	case []any:
		into, ok := live.([]any)
		if !ok || len(into) != len(wanted) {
			return wanted
		}
		for at, value := range wanted {
			into[at] = overlaid(into[at], value)
		}
		return into
	}
	return wanted
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// highWaterMB is VmHWM, which unlike ru_maxrss does not begin with the parent's.
func highWaterMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kibibytes float64
	for _, line := range strings.Split(string(status), "\n") {
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kibibytes); err == nil {
			return kibibytes * 1024 / 1e6
		}
	}
	return 0
}
