package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"sync"
	"time"
)

// upload is one NFC transfer.
type upload struct {
	ID            string    `json:"id"`
	Lease         string    `json:"lease"`
	File          string    `json:"file"`
	Method        string    `json:"method"`
	At            time.Time `json:"at"`
	ContentLength int64     `json:"contentLength"`
	Bytes         int64     `json:"bytes"`
	// State: running, held, done, failed (the client went away or sent too little), dropped (by a rule).
	State string `json:"state"`
	Rule  string `json:"rule,omitempty"`
}

type uploadTable struct {
	mu   sync.Mutex
	next int
	all  []*upload
}

func newUploadTable() *uploadTable { return &uploadTable{} }

func (t *uploadTable) begin(r *http.Request) *upload {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	u := &upload{
		ID: strconv.Itoa(t.next), Lease: path.Base(path.Dir(r.URL.Path)), File: path.Base(r.URL.Path), Method: r.Method,
		At: time.Now().UTC(), ContentLength: r.ContentLength, State: "running",
	}
	t.all = append(t.all, u)
	return u
}

func (t *uploadTable) set(u *upload, change func(*upload)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(u)
}

func (t *uploadTable) report() (out []upload, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out = []upload{}
	for _, u := range t.all {
		out = append(out, *u)
		bytes += u.Bytes
	}
	return out, bytes
}

func (t *uploadTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = nil
}

var (
	errDropped  = errors.New("dropped by a rule")
	errReleased = errors.New("given up while held")
)

// gate is the body of an upload: it counts, throttles, holds after n bytes, and cuts after n bytes.
type gate struct {
	vc   *vcenter
	ctx  context.Context
	body io.ReadCloser
	up   *upload
	by   *rule
	done sync.Once
	lock *sync.Mutex
	// passed is set once the hold or the cut is behind us.
	passed bool
	count  int64
}

func (g *gate) Read(p []byte) (int, error) {
	if err := g.stop(); err != nil {
		g.finish()
		return 0, err
	}
	n, err := g.body.Read(p[:g.room(len(p))])
	g.count += int64(n)
	g.vc.uploads.set(g.up, func(u *upload) { u.Bytes = g.count })
	if g.by != nil && g.by.BytesPerSecond > 0 && n > 0 {
		g.slow(n)
	}
	if err != nil {
		g.finish()
	}
	return n, err
}

// room keeps a read from passing the byte at which the rule acts, and a throttled one small.
func (g *gate) room(n int) int {
	if g.by == nil {
		return n
	}
	if left := g.by.AfterBytes - g.count; !g.passed && left > 0 && left < int64(n) {
		n = int(left)
	}
	if rate := g.by.BytesPerSecond / 20; g.by.BytesPerSecond > 0 && rate < int64(n) {
		n = int(max(rate, 1))
	}
	return n
}

func (g *gate) slow(n int) {
	timer := time.NewTimer(time.Duration(float64(n) / float64(g.by.BytesPerSecond) * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.by.release:
	case <-g.ctx.Done():
	}
}

// stop is where the rule acts.
func (g *gate) stop() error {
	if g.by == nil || g.passed || g.count < g.by.AfterBytes {
		return nil
	}
	switch g.by.Do {
	case doDropUpload:
		return errDropped
	case doHold:
		g.passed = true
		if g.by.Acted {
			return nil
		}
		g.vc.uploads.set(g.up, func(u *upload) { u.State = "held" })
		if !g.vc.rules.hold(g.ctx, g.by) {
			return errReleased
		}
		g.vc.uploads.set(g.up, func(u *upload) { u.State = "running" })
	}
	return nil
}

// finish takes the lease's lock: the simulator then writes the digest into an unlocked map.
func (g *gate) finish() { g.done.Do(g.lock.Lock) }

func (g *gate) Close() error { return g.body.Close() }

// serveNFC passes an upload or download through the table.
func (vc *vcenter) serveNFC(w http.ResponseWriter, r *http.Request) {
	method := "upload"
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		method = "download"
	}
	entry := vc.calls.begin(method, vc.sessions.of(r))
	by := vc.rules.take(method, []byte(r.URL.Path))
	ctx, end := vc.outage.context(r.Context())
	defer end()
	up := vc.uploads.begin(r)
	if by != nil {
		entry.ruled(by.ID)
		vc.uploads.set(up, func(u *upload) { u.Rule = by.ID })
		switch by.Do {
		case doDropBefore:
			vc.dropUpload(w, up, entry)
			return
		case doStatus, doFault:
			status := by.Status
			if status == 0 {
				status = http.StatusInternalServerError
			}
			vc.uploads.set(up, func(u *upload) { u.State = "failed" })
			entry.end(status)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, by.Body)
			return
		case doDelay:
			pause(ctx, time.Duration(by.DelayMs)*time.Millisecond)
		}
	}
	g := &gate{vc: vc, ctx: ctx, body: r.Body, up: up, by: by, lock: vc.leases.lock(up.Lease)}
	inner := r.Clone(context.Background())
	inner.Body = g
	out := httptest.NewRecorder()
	if method == "download" {
		vc.inner.ServeHTTP(w, inner)
		vc.uploads.set(up, func(u *upload) { u.State = "done" })
		entry.end(http.StatusOK)
		return
	}
	vc.inner.ServeHTTP(out, inner)
	g.done.Do(g.lock.Lock)
	g.lock.Unlock()
	if by != nil && by.Do == doHold && by.Acted && !vc.holdAnswer(ctx, up, by) {
		entry.end(0)
		return
	}
	if by != nil && (by.Do == doDropAfter || by.Do == doDropUpload && out.Code != http.StatusOK) {
		vc.dropUpload(w, up, entry)
		return
	}
	vc.uploads.set(up, func(u *upload) {
		u.State = "done"
		if out.Code != http.StatusOK || r.ContentLength > u.Bytes {
			u.State = "failed"
		}
	})
	entry.end(out.Code)
	w.WriteHeader(out.Code)
	_, _ = w.Write(out.Body.Bytes())
}

// holdAnswer keeps the answer to a finished upload back. False: the client or the server's time ended first.
func (vc *vcenter) holdAnswer(ctx context.Context, up *upload, by *rule) bool {
	vc.uploads.set(up, func(u *upload) { u.State = "held" })
	return vc.rules.hold(ctx, by)
}

func (vc *vcenter) dropUpload(w http.ResponseWriter, up *upload, entry *callEntry) {
	vc.uploads.set(up, func(u *upload) { u.State = "dropped" })
	entry.end(0)
	drop(w)
}
