package main

import (
	"bytes"
	"net/http/httptest"
	"sync"
)

// hiddenTable has the VMs whose config nobody can read: vCenter leaves it unset for one that is inaccessible.
type hiddenTable struct {
	mu  sync.Mutex
	vms map[string]bool
}

func newHiddenTable() *hiddenTable { return &hiddenTable{vms: map[string]bool{}} }

func (t *hiddenTable) set(moref string, hidden bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if hidden {
		t.vms[moref] = true
	} else {
		delete(t.vms, moref)
	}
}

func (t *hiddenTable) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sortedKeys(t.vms)
}

// hide takes the configuration of hidden VMs out of what a property retrieval found.
func (vc *vcenter) hide(out *httptest.ResponseRecorder) {
	hidden := vc.hidden.all()
	if len(hidden) == 0 {
		return
	}
	parts := bytes.Split(out.Body.Bytes(), []byte("<objects>"))
	for i, part := range parts[1:] {
		for _, moref := range hidden {
			if bytes.Contains(part, []byte(">"+moref+"</obj>")) {
				parts[i+1] = withoutConfig(part)
			}
		}
	}
	out.Body = bytes.NewBuffer(bytes.Join(parts, []byte("<objects>")))
}

// withoutConfig drops every property below config; those of the summary stay.
func withoutConfig(object []byte) []byte {
	const open, end = "<propSet>", "</propSet>"
	parts := bytes.Split(object, []byte(open))
	kept := parts[0]
	for _, part := range parts[1:] {
		if bytes.HasPrefix(part, []byte("<name>config.")) {
			_, rest, _ := bytes.Cut(part, []byte(end))
			kept = append(bytes.Clone(kept), rest...)
			continue
		}
		kept = append(append(bytes.Clone(kept), open...), part...)
	}
	return kept
}
