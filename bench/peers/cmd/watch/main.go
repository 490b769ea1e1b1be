// Command watch is the peer of bench/watch: a re-enactment, on govmomi's property collector, of how vm-operator turns changes of machines into reconcile requests. It was
// written from a description of that watcher's behaviour, and has none of its code: list view over container views, 31 property paths, a hash of each property's
// JSON, one goroutine per request, and a new watcher after any error. Its look-up of Kubernetes objects answers at once. It reads one job per JSON line on stdin and answers each with a line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// job is a step of a measurement; see job.ts.
type job struct {
	Do        string `json:"do"`
	URL       string `json:"url"`
	User      string `json:"user"`
	Password  string `json:"password"`
	CA        string `json:"ca"`
	Container string `json:"container"`
	Verified  bool   `json:"verified"`
	// Requests and PatienceMS end a collection, whichever comes first.
	Requests   int   `json:"requests"`
	PatienceMS int64 `json:"patienceMs"`
}

type answer struct {
	WallSeconds float64 `json:"wallSeconds"`
	CPUSeconds  float64 `json:"cpuSeconds"`
	PeakRSSMB   float64 `json:"peakRssMB"`
	// Machines and At are the requests since the last answer: whose, and when, in microseconds since 1970.
	Machines []string `json:"machines"`
	At       []int64  `json:"at"`
}

// measurement is what one process measures: a watcher, and the requests that came of it.
type measurement struct {
	watcher  *watcher
	lock     sync.Mutex
	machines []string
	at       []int64
	cpu      float64
	synced   chan struct{}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	m := &measurement{synced: make(chan struct{}), machines: []string{}, at: []int64{}}
	for lines.Scan() {
		result, err := m.run(lines.Bytes())
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
			continue
		}
		_ = out.Encode(result)
	}
}

func (m *measurement) run(line []byte) (*answer, error) {
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	if j.Do == "collect" {
		return m.collect(j.Requests, time.Duration(j.PatienceMS)*time.Millisecond)
	}
	m.cpu = cpuSeconds()
	started := time.Now()
	client, err := connect(context.Background(), &j)
	if err != nil {
		return nil, err
	}
	m.watcher = &watcher{
		client:    client,
		container: types.ManagedObjectReference{Type: "Folder", Value: j.Container},
		verified:  j.Verified,
		requests:  make(chan string),
		synced:    func() { close(m.synced) },
		known:     map[types.ManagedObjectReference]map[string]string{},
	}
	go m.receive()
	go m.watcher.run(context.Background())
	<-m.synced
	return m.collectSince(started, j.Requests, time.Duration(j.PatienceMS)*time.Millisecond)
}

func (m *measurement) receive() {
	for machine := range m.watcher.requests {
		at := time.Now().UnixMicro()
		m.lock.Lock()
		m.machines = append(m.machines, machine)
		m.at = append(m.at, at)
		m.lock.Unlock()
	}
}

func (m *measurement) collect(requests int, patience time.Duration) (*answer, error) {
	return m.collectSince(time.Now(), requests, patience)
}

func (m *measurement) collectSince(started time.Time, requests int, patience time.Duration) (*answer, error) {
	deadline := time.Now().Add(patience)
	for {
		m.lock.Lock()
		enough := len(m.machines) >= requests
		m.lock.Unlock()
		if enough || time.Now().After(deadline) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	wall := time.Since(started).Seconds()
	m.lock.Lock()
	defer m.lock.Unlock()
	peak, err := peakRSSMB()
	cpu := cpuSeconds()
	done := &answer{WallSeconds: wall, CPUSeconds: cpu - m.cpu, PeakRSSMB: peak, Machines: m.machines, At: m.at}
	m.machines, m.at, m.cpu = []string{}, []int64{}, cpu
	return done, err
}

func connect(ctx context.Context, j *job) (*vim25.Client, error) {
	endpoint, err := url.Parse(j.URL)
	if err != nil {
		return nil, err
	}
	transport := soap.NewClient(endpoint, false)
	if err := transport.SetRootCAs(j.CA); err != nil {
		return nil, err
	}
	client, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return nil, err
	}
	return client, session.NewManager(client).Login(ctx, url.UserPassword(j.User, j.Password))
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// peakRSSMB is the kernel's high-water mark of this process in 10^6 bytes.
func peakRSSMB() (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kibibytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kibibytes * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no VmHWM")
}
