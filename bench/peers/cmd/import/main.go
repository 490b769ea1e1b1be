// Command import is the peer of bench/import: it imports OVAs with govmomi's ovf/importer, one per JSON line on stdin, and
// answers each with a line of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// job is one import; see job.ts.
type job struct {
	URL        string `json:"url"`
	User       string `json:"user"`
	Password   string `json:"password"`
	CA         string `json:"ca"`
	OVA        string `json:"ova"`
	SHA256     string `json:"sha256"`
	Name       string `json:"name"`
	Tag        string `json:"tag"`
	Datacenter string `json:"datacenter"`
	Folder     string `json:"folder"`
	Cluster    string `json:"cluster"`
	Datastore  string `json:"datastore"`
	Network    string `json:"network"`
	Beside     bool   `json:"beside"`
}

type result struct {
	Name        string  `json:"name"`
	WallSeconds float64 `json:"wallSeconds"`
	CPUSeconds  float64 `json:"cpuSeconds"`
	PeakRSSMB   float64 `json:"peakRssMB"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		answer, err := measure(lines.Bytes())
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
			continue
		}
		_ = out.Encode(answer)
	}
}

func measure(line []byte) (*result, error) {
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	cpu, started := cpuSeconds(), time.Now()
	if err := publish(&j); err != nil {
		return nil, err
	}
	wall := time.Since(started).Seconds()
	peak, err := peakRSSMB()
	return &result{Name: j.Name, WallSeconds: wall, CPUSeconds: cpuSeconds() - cpu, PeakRSSMB: peak}, err
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
