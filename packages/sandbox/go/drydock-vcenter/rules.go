package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a rule does to a call that it takes.
const (
	doFault      = "fault"       // answer with a fault instead of acting; `acted` answers it after acting
	doStatus     = "status"      // answer with an HTTP status and body instead of acting
	doDelay      = "delay"       // wait delayMs before acting; `acted` waits after acting
	doHold       = "hold"        // wait until released before acting; `acted` waits after acting; uploads: after afterBytes
	doDropBefore = "drop-before" // reset the connection, the server never acts
	doDropAfter  = "drop-after"  // let the server act, reset the connection instead of answering
	doDropUpload = "drop-upload" // reset the connection after afterBytes of the request body
	doThrottle   = "throttle"    // read an upload at bytesPerSecond
	doTask       = "task"        // answer with a task that ends after delayMs or on release, with `fault` or as the work did
)

var actions = []string{doFault, doStatus, doDelay, doHold, doDropBefore, doDropAfter, doDropUpload, doThrottle, doTask}

// rule is one row of the table. A call is offered to the rows in the order they were made; the first that takes it decides.
type rule struct {
	ID string `json:"id"`
	// On is a SOAP method, "upload" or "download" (NFC), "POST /rest/path"; a final * matches any rest, "*" all calls.
	On string `json:"on"`
	Do string `json:"do"`
	// Match, if given, must occur in the request body (SOAP, REST) or in the path (NFC).
	Match string `json:"match,omitempty"`
	// Skip lets that many matching calls pass first: n-1 means the n-th call.
	Skip int `json:"skip,omitempty"`
	// Times is how many calls it takes; 0 means all.
	Times          int    `json:"times,omitempty"`
	Fault          *fault `json:"fault,omitempty"`
	Acted          bool   `json:"acted,omitempty"`
	DelayMs        int    `json:"delayMs,omitempty"`
	AfterBytes     int64  `json:"afterBytes,omitempty"`
	BytesPerSecond int64  `json:"bytesPerSecond,omitempty"`
	Status         int    `json:"status,omitempty"`
	Body           string `json:"body,omitempty"`
	// Work, for a task: "first" (act, then pretend to be busy), "last" (act when the wait is over), "never".
	Work string `json:"work,omitempty"`
	// Hold, for a task: wait for the release instead of delayMs.
	Hold bool `json:"hold,omitempty"`

	Seen  int `json:"seen"`
	Taken int `json:"taken"`
	// Held is how many calls wait for the release now.
	Held int `json:"held"`

	release chan struct{}
}

func (r *rule) check() error {
	switch {
	case r.On == "":
		return errors.New(`"on" must name a method, "upload", "download" or "*"`)
	case !slices.Contains(actions, r.Do):
		return fmt.Errorf("%q is not an action; choose from %s", r.Do, strings.Join(actions, ", "))
	case r.Do == doFault && r.Fault == nil:
		return errors.New(`"fault" needs fault.name`)
	case r.Fault != nil && r.Fault.Name == "":
		return errors.New("fault.name is empty")
	case r.Do == doThrottle && r.BytesPerSecond <= 0:
		return errors.New(`"throttle" needs bytesPerSecond above 0`)
	case r.Do == doTask && !slices.Contains([]string{"", "first", "last", "never"}, r.Work):
		return errors.New(`"work" is first, last or never`)
	case r.Do == doTask && r.Fault != nil:
		_, err := r.Fault.decoded()
		return err
	}
	return nil
}

func (r *rule) matches(method string, text []byte) bool {
	if prefix, wild := strings.CutSuffix(r.On, "*"); wild {
		if !strings.HasPrefix(method, prefix) {
			return false
		}
	} else if r.On != method {
		return false
	}
	return r.Match == "" || bytes.Contains(text, []byte(r.Match))
}

type ruleTable struct {
	mu      sync.Mutex
	next    int
	rules   []*rule
	changed chan struct{}
}

func newRuleTable() *ruleTable { return &ruleTable{changed: make(chan struct{})} }

// announce wakes everybody who waits for a count; the caller holds the lock.
func (t *ruleTable) announce() {
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *ruleTable) add(r rule) (rule, error) {
	if err := r.check(); err != nil {
		return rule{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	r.ID, r.Seen, r.Taken, r.Held = strconv.Itoa(t.next), 0, 0, 0
	r.release = make(chan struct{})
	t.rules = append(t.rules, &r)
	return r, nil
}

// take offers a call to the table and returns the row that takes it.
func (t *ruleTable) take(method string, text []byte) *rule {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rules {
		if !r.matches(method, text) {
			continue
		}
		r.Seen++
		if r.Seen <= r.Skip || r.Times > 0 && r.Taken >= r.Times {
			continue
		}
		r.Taken++
		t.announce()
		return r
	}
	return nil
}

func (t *ruleTable) list() []rule {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]rule, 0, len(t.rules))
	for _, r := range t.rules {
		out = append(out, *r)
	}
	return out
}

func (t *ruleTable) get(id string) (rule, bool) {
	for _, r := range t.list() {
		if r.ID == id {
			return r, true
		}
	}
	return rule{}, false
}

// free lets go of what the row holds now and later; the row stays, but holds no more.
func (t *ruleTable) free(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.rules {
		if r.ID == id {
			r.open()
			return true
		}
	}
	return false
}

func (r *rule) open() {
	select {
	case <-r.release:
	default:
		close(r.release)
	}
}

// remove deletes one row, or all with "", and releases what they hold.
func (t *ruleTable) remove(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.rules)
	t.rules = slices.DeleteFunc(t.rules, func(r *rule) bool {
		if id == "" || r.ID == id {
			r.open()
			return true
		}
		return false
	})
	t.announce()
	return id == "" || len(t.rules) < before
}

// hold waits for the release. False: the caller or his session went away first.
func (t *ruleTable) hold(ctx context.Context, r *rule) bool {
	t.count(r, 1)
	defer t.count(r, -1)
	select {
	case <-r.release:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *ruleTable) count(r *rule, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Held += by
	t.announce()
}

// await waits until the row has taken and holds at least that many calls.
func (t *ruleTable) await(ctx context.Context, id string, taken, held int) (rule, error) {
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		r, ok := t.get(id)
		switch {
		case !ok:
			return rule{}, fmt.Errorf("no rule %s", id)
		case r.Taken >= taken && r.Held >= held:
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, fmt.Errorf("rule %s (%s %s) took %d and holds %d, waited for %d and %d", id, r.Do, r.On, r.Taken, r.Held, taken, held)
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
