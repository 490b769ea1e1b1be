package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// outage makes the server look like vCenter while it restarts: connections are reset, then every request gets an HTML 503.
type outage struct {
	mu    sync.Mutex
	until time.Time
	cut   chan struct{}
}

// refuses answers the request when the server is "down".
func (o *outage) refuses(w http.ResponseWriter) bool {
	o.mu.Lock()
	down := time.Now().Before(o.until)
	o.mu.Unlock()
	if !down {
		return false
	}
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "<html><body><h1>503 Service Unavailable</h1>The server is starting.</body></html>")
	return true
}

// context ends when the server "restarts": a held upload does not notice by itself that its connection is gone.
func (o *outage) context(parent context.Context) (context.Context, func()) {
	o.mu.Lock()
	if o.cut == nil {
		o.cut = make(chan struct{})
	}
	cut := o.cut
	o.mu.Unlock()
	ctx, cancel := context.WithCancel(parent)
	go func() {
		select {
		case <-cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (o *outage) begin(down time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until = time.Now().Add(down)
	if o.cut != nil {
		close(o.cut)
		o.cut = nil
	}
}

// restart drops every connection, answers 503 for a while and forgets the sessions. The inventory stays.
func (vc *vcenter) restart(down time.Duration, forget bool) int {
	vc.outage.begin(down)
	vc.server.CloseClientConnections()
	if !forget {
		return 0
	}
	return vc.kill()
}
