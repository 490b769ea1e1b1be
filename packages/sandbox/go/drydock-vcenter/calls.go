package main

import (
	"sync"
	"time"
)

// callEntry is one line of the call log. Status is 0 while it runs, and for a call that got no answer.
type callEntry struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	Method  string    `json:"method"`
	Session string    `json:"session,omitempty"`
	Status  int       `json:"status"`
	Rule    string    `json:"rule,omitempty"`
	Ended   bool      `json:"ended"`

	table *callTable
}

// callLogSize bounds the log; the totals are never cut.
const callLogSize = 20000

type callTable struct {
	mu     sync.Mutex
	seq    int
	totals map[string]int
	log    []*callEntry
}

func newCallTable() *callTable { return &callTable{totals: map[string]int{}} }

func (t *callTable) begin(method string, by *session) *callEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	t.totals[method]++
	entry := &callEntry{Seq: t.seq, At: time.Now().UTC(), Method: method, table: t}
	if by != nil {
		entry.Session = by.ID
	}
	if len(t.log) == callLogSize {
		t.log = append(t.log[:0], t.log[callLogSize/2:]...)
	}
	t.log = append(t.log, entry)
	return entry
}

func (e *callEntry) ruled(id string) {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	e.Rule = id
}

func (e *callEntry) end(status int) {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	e.Status, e.Ended = status, true
}

func (t *callTable) report() (total int, methods map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	methods = make(map[string]int, len(t.totals))
	for name, n := range t.totals {
		methods[name] = n
		total += n
	}
	return total, methods
}

func (t *callTable) since(seq int) []callEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []callEntry{}
	for _, entry := range t.log {
		if entry.Seq > seq {
			out = append(out, *entry)
		}
	}
	return out
}

func (t *callTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals, t.log = map[string]int{}, nil
}
