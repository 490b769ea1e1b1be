package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

func isWait(method string) bool {
	return method == "WaitForUpdatesEx" || method == "WaitForUpdates" || method == "CheckForUpdates"
}

// undelivered is an answer that its caller never got. The simulator keeps no version of its updates; vCenter repeats
// what was not acknowledged, so the answer waits here for the caller to repeat the version.
type undelivered struct {
	version string
	answer  *httptest.ResponseRecorder
}

type waitTable struct {
	mu      sync.Mutex
	kept    map[string]undelivered
	pending map[string]int
}

func newWaitTable() *waitTable {
	return &waitTable{kept: map[string]undelivered{}, pending: map[string]int{}}
}

func collectorOf(c *call) string {
	this, _ := elementText(c.body, "_this")
	if c.session != nil {
		return c.session.ID + " " + this
	}
	return this
}

func (vc *vcenter) keepUndelivered(c *call, out *httptest.ResponseRecorder) {
	version, _ := elementText(c.body, "version")
	if !isWait(c.method) || out.Code != http.StatusOK || version == "" {
		return
	}
	vc.waits.mu.Lock()
	defer vc.waits.mu.Unlock()
	vc.waits.kept[collectorOf(c)] = undelivered{version, out}
}

func (t *waitTable) takeKept(c *call) *httptest.ResponseRecorder {
	version, _ := elementText(c.body, "version")
	key := collectorOf(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, ok := t.kept[key]
	delete(t.kept, key)
	if !ok || kept.version != version {
		return nil
	}
	return kept.answer
}

func (t *waitTable) begin(by *session) func() {
	if by == nil {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending[by.ID]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.pending[by.ID]--; t.pending[by.ID] == 0 {
			delete(t.pending, by.ID)
		}
	}
}

// drain waits until the session has no wait in the simulator: cancelling one needs the session to be alive there.
func (t *waitTable) drain(id string) {
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		t.mu.Lock()
		n := t.pending[id]
		t.mu.Unlock()
		if n == 0 {
			return
		}
	}
}

// actWait runs a wait for updates, and cancels it in the simulator when its caller is gone or his session is killed.
func (vc *vcenter) actWait(ctx context.Context, r *http.Request, c *call) *httptest.ResponseRecorder {
	if kept := vc.waits.takeKept(c); kept != nil {
		return kept
	}
	end := vc.waits.begin(c.session)
	out := httptest.NewRecorder()
	out.Body = new(bytes.Buffer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		vc.replay(out, r, c.body)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		this, _ := elementText(c.body, "_this")
		cancel := []byte(envelopeOpen + fmt.Sprintf(
			`<CancelWaitForUpdates xmlns="urn:vim25"><_this type="PropertyCollector">%s</_this></CancelWaitForUpdates>`, escape(this)) + envelopeClose)
		// A cancel that comes before the wait has begun is lost: repeat it.
		for waiting := true; waiting; {
			vc.replay(httptest.NewRecorder(), r, cancel)
			select {
			case <-done:
				waiting = false
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	end()
	if c.session.ended() {
		out = httptest.NewRecorder()
		writeFault(out, notAuthenticated())
	}
	return out
}
