// Command durable is the peer of bench/durable: it makes the system calls of library-go's atomic directories and installer in their order,
// written from a description of that order, without its code. It reads one job per JSON line on stdin and answers each with a line of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// job asks for a directory to be replaced, or for a revision of a static pod to be laid down below root.
type job struct {
	Do         string `json:"do"`
	Target     string `json:"target"`
	Staging    string `json:"staging"`
	Root       string `json:"root"`
	Objects    int    `json:"objects"`
	Files      int    `json:"files"`
	Bytes      int    `json:"bytes"`
	Generation int    `json:"generation"`
}

type result struct {
	WallMS float64 `json:"wallMs"`
	Fsyncs int     `json:"fsyncs"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var j job
		err := json.Unmarshal(lines.Bytes(), &j)
		var answer *result
		if err == nil {
			answer, err = run(j)
		}
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
			continue
		}
		_ = out.Encode(answer)
	}
}

// run prepares the content, and then times the writing of it.
func run(j job) (*result, error) {
	files := make(map[string]file, j.Files)
	for index := range j.Files {
		content := fmt.Sprintf("%d %d ", j.Generation, index)
		content += strings.Repeat("x", max(0, j.Bytes-len(content)))
		files[fmt.Sprintf("file-%d", index)] = file{[]byte(content), 0o600}
	}
	pod := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bench","labels":{"revision":"%d"}},"spec":{"containers":[{"name":"main"}]}}`, j.Generation)
	fsyncs = 0
	started := time.Now()
	var err error
	if j.Do == "directory" {
		err = syncDirectory(j.Target, j.Staging, files)
	} else {
		err = installRevision(j, files, []byte(pod))
	}
	return &result{WallMS: float64(time.Since(started).Microseconds()) / 1000, Fsyncs: fsyncs}, err
}

// installRevision lays down one object after the other, then the pod beside them, then the manifest that kubelet reads.
func installRevision(j job, files map[string]file, pod []byte) error {
	dir := filepath.Join(j.Root, "resources", fmt.Sprintf("bench-pod-%d", j.Generation))
	manifests := filepath.Join(j.Root, "manifests")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	staging := filepath.Join(dir, "staging", "installer")
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	for first, kind := range []string{"secrets", "configmaps"} {
		for index := first; index < j.Objects; index += 2 {
			object := filepath.Join(kind, fmt.Sprintf("object-%d", index))
			if err := syncDirectory(filepath.Join(dir, object), filepath.Join(staging, object), files); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(manifests, 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "bench-pod.yaml"), file{pod, 0o600}); err != nil {
		return err
	}
	// Gone first, so that kubelet sees a new file.
	manifest := filepath.Join(manifests, "bench-pod.yaml")
	if err := os.Remove(manifest); err != nil && !os.IsNotExist(err) {
		return err
	}
	return writeFile(manifest, file{pod, 0o600})
}
