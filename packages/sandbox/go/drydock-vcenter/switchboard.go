package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serveSwitchboard starts the control API. It has no authentication and listens on loopback only.
func serveSwitchboard(vc *vcenter, address string) (string, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	for pattern, handle := range vc.routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { reply(w, r, handle) })
	}
	go func() { _ = http.Serve(listener, mux) }()
	return "http://" + listener.Addr().String(), nil
}

// route answers a control request with a value that becomes JSON; nil becomes {}.
type route func(r *http.Request) (any, error)

// errGone is a 404, every other error a 400: the text says what was wrong.
var errGone = errors.New("not found")

func reply(w http.ResponseWriter, r *http.Request, handle route) {
	w.Header().Set("Content-Type", "application/json")
	// A page in a browser can reach loopback too: it sends an Origin, a test does not.
	if r.Header.Get("Origin") != "" || !loopbackHost(r.Host) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error":"the switchboard serves loopback clients only"}`)
		return
	}
	value, err := guarded(handle, r)
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, errGone) {
			status = http.StatusNotFound
		} else if errors.Is(err, context.DeadlineExceeded) {
			status = http.StatusRequestTimeout
		}
		w.WriteHeader(status)
		value = map[string]string{"error": err.Error()}
	}
	if value == nil {
		value = struct{}{}
	}
	_ = json.NewEncoder(w).Encode(value)
}

// guarded turns a panic of the simulator into an error.
func guarded(handle route, r *http.Request) (value any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the simulator panicked: %v", cause)
		}
	}()
	return handle(r)
}

func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// decode reads the JSON body; an unknown field is an error, so that a mistyped rule cannot silently do nothing.
func decode[T any](r *http.Request) (T, error) {
	var out T
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&out)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("the request body: %w", err)
	}
	return out, err
}

func number(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
