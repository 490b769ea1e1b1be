package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"crypto/tls"
)

// call is one request on its way through the table.
type call struct {
	method string
	body   []byte
	// session is the caller's, nil before a login.
	session *session
	entry   *callEntry
}

// serve is the handler in front of the simulator's.
func (vc *vcenter) serve(w http.ResponseWriter, r *http.Request) {
	if vc.outage.refuses(w) {
		return
	}
	if strings.HasPrefix(r.URL.Path, "/nfc/") {
		vc.serveNFC(w, r)
		return
	}
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c := &call{body: body, session: vc.sessions.of(r)}
	if isREST(r.URL.Path) || r.Method != http.MethodPost {
		c.method = restMethod(r)
	} else {
		c.method = soapMethod(body)
	}
	c.entry = vc.calls.begin(c.method, c.session)
	ctx, end := c.session.context(r.Context())
	defer end()
	vc.apply(ctx, w, r, c, vc.rules.take(c.method, body))
}

// restMethod names a REST call by verb and path, identifiers reduced to id:*.
func restMethod(r *http.Request) string {
	parts := strings.Split(r.URL.Path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "id:") {
			parts[i] = "id:*"
		}
	}
	name := r.Method + " " + strings.Join(parts, "/")
	if action := r.URL.Query().Get("~action"); action != "" {
		name += "?~action=" + action
	}
	return name
}

func (vc *vcenter) apply(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call, by *rule) {
	if by == nil {
		vc.answer(w, r, c, vc.act(ctx, r, c))
		return
	}
	c.entry.ruled(by.ID)
	switch {
	case by.Do == doDropBefore:
		c.entry.end(0)
		drop(w)
	case by.Do == doDropAfter:
		vc.keepUndelivered(c, vc.act(ctx, r, c))
		c.entry.end(0)
		drop(w)
	case by.Do == doStatus:
		c.entry.end(by.Status)
		w.WriteHeader(by.Status)
		_, _ = io.WriteString(w, by.Body)
	case by.Do == doFault:
		if by.Acted {
			vc.act(ctx, r, c)
		}
		c.entry.end(http.StatusInternalServerError)
		writeFault(w, *by.Fault)
	case by.Do == doTask && strings.HasSuffix(c.method, "_Task"):
		vc.answerWithTask(w, r, c, by)
	case by.Do == doDelay || by.Do == doHold:
		vc.applyWait(ctx, w, r, c, by)
	default: // an upload's action on a call that is no upload
		vc.answer(w, r, c, vc.act(ctx, r, c))
	}
}

// applyWait delays or holds a call before the server acts, or its answer after.
func (vc *vcenter) applyWait(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call, by *rule) {
	wait := func() bool {
		if by.Do == doHold {
			return vc.rules.hold(ctx, by)
		}
		return pause(ctx, time.Duration(by.DelayMs)*time.Millisecond)
	}
	var done *httptest.ResponseRecorder
	if by.Acted {
		done = vc.act(ctx, r, c)
	}
	if !wait() {
		if c.session.ended() {
			c.entry.end(http.StatusInternalServerError)
			writeFault(w, notAuthenticated())
			return
		}
		c.entry.end(0)
		return
	}
	if done == nil {
		done = vc.act(ctx, r, c)
	}
	vc.answer(w, r, c, done)
}

// act lets the simulator serve the call, guarded before and made more like vCenter after.
func (vc *vcenter) act(ctx context.Context, r *http.Request, c *call) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	out.Body = new(bytes.Buffer)
	if refused := vc.refusal(c); refused != nil {
		writeFault(out, *refused)
		return out
	}
	if vc.refusePrivilege(out, r, c) {
		return out
	}
	if isWait(c.method) {
		return vc.actWait(ctx, r, c)
	}
	before := vc.before(r, c)
	vc.replay(out, r, c.body)
	vc.after(r, c, before, out)
	return out
}

// replay serves the request by the simulator itself.
func (vc *vcenter) replay(w http.ResponseWriter, r *http.Request, body []byte) {
	again := r.Clone(context.Background())
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	defer func() {
		if cause := recover(); cause != nil {
			log.Printf("the simulator panicked: %v", cause)
			writeFault(w, fault{Name: "SystemError", Message: fmt.Sprint(cause)})
		}
	}()
	vc.inner.ServeHTTP(w, again)
}

// answer copies what the simulator said.
func (vc *vcenter) answer(w http.ResponseWriter, r *http.Request, c *call, out *httptest.ResponseRecorder) {
	c.entry.end(out.Code)
	if r.Context().Err() != nil {
		vc.keepUndelivered(c, out)
		return
	}
	for name, values := range out.Header() {
		w.Header()[name] = values
	}
	if w.Header().Get("Content-Type") == "" && out.Body.Len() > 0 && !isREST(r.URL.Path) {
		w.Header().Set("Content-Type", `text/xml; charset="utf-8"`)
	}
	w.WriteHeader(out.Code)
	_, _ = w.Write(out.Body.Bytes())
}

// drop resets the connection: the client sees ECONNRESET, not an end of stream.
func drop(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	raw := conn
	if secure, ok := conn.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = raw.Close()
}
