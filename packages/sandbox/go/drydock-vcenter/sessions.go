package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	restCookie  = "vmware-api-session-id"
	restSession = "/rest/com/vmware/cis/session"
)

// session is one login, by SOAP or REST. A nil session is a caller who has not logged in.
type session struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	User    string    `json:"user"`
	At      time.Time `json:"at"`
	Address string    `json:"address"`
	Agent   string    `json:"agent"`
	Calls   int       `json:"calls"`

	over chan struct{}
}

// ended says whether the session was killed.
func (s *session) ended() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// context ends with the session too, so that killing a session ends what waits in it.
func (s *session) context(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	if s != nil {
		go func() {
			select {
			case <-s.over:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

type sessionReport struct {
	Sessions []session `json:"sessions"`
	// Logins, refused logins and logouts since the start.
	Logins  int `json:"logins"`
	Refused int `json:"refused"`
	Logouts int `json:"logouts"`
	// Accounts that are locked now.
	Locked []string `json:"locked"`
}

type sessionTable struct {
	mu    sync.Mutex
	live  map[string]*session
	stats sessionReport
}

func newSessionTable() *sessionTable { return &sessionTable{live: map[string]*session{}} }

// of finds the caller's session by cookie or header.
func (t *sessionTable) of(r *http.Request) *session {
	keys := []string{r.Header.Get(restCookie)}
	for _, cookie := range r.Cookies() {
		if cookie.Name == soap.SessionCookieName || cookie.Name == restCookie {
			keys = append(keys, cookie.Value)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if s := t.live[strings.Trim(key, `"`)]; s != nil {
			s.Calls++
			return s
		}
	}
	return nil
}

func (t *sessionTable) report() sessionReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.stats
	out.Sessions = []session{}
	for _, s := range t.live {
		out.Sessions = append(out.Sessions, *s)
	}
	sort.Slice(out.Sessions, func(i, j int) bool { return out.Sessions[i].At.Before(out.Sessions[j].At) })
	return out
}

// note learns of logins and logouts from what the simulator answered.
func (t *sessionTable) note(r *http.Request, c *call, out *httptest.ResponseRecorder) {
	opened := ""
	switch {
	case c.method == "Login" || c.method == "LoginByToken" || c.method == "CloneSession":
		for _, cookie := range out.Result().Cookies() {
			if cookie.Name == soap.SessionCookieName && out.Code == http.StatusOK {
				opened = cookie.Value
			}
		}
	case c.method == "POST "+restSession:
		var reply struct{ Value string }
		if out.Code == http.StatusOK && json.Unmarshal(out.Body.Bytes(), &reply) == nil {
			opened = reply.Value
		}
	case c.method == "Logout" || c.method == "DELETE "+restSession:
		if out.Code == http.StatusOK && c.session != nil {
			t.close(c.session, true)
		}
		return
	default:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if opened == "" {
		t.stats.Refused++
		return
	}
	t.stats.Logins++
	s := &session{
		ID: opened, Kind: "soap", At: time.Now().UTC(), Address: r.RemoteAddr, Agent: r.UserAgent(), over: make(chan struct{}),
	}
	if isREST(r.URL.Path) {
		s.Kind = "rest"
		s.User, _, _ = r.BasicAuth()
	} else if login, ok := decodeCall(c.body).(*types.Login); ok {
		s.User = login.UserName
	}
	t.live[opened] = s
}

func (t *sessionTable) close(s *session, logout bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live[s.ID] == nil {
		return
	}
	delete(t.live, s.ID)
	if logout {
		t.stats.Logouts++
	}
	close(s.over)
}

// kill ends sessions by id, or all with none given: their pending waits end with NotAuthenticated, as in vCenter.
func (vc *vcenter) kill(ids ...string) int {
	killed := 0
	for _, s := range vc.sessions.report().Sessions {
		if len(ids) > 0 && !contains(ids, s.ID) {
			continue
		}
		vc.sessions.close(&s, false)
		killed++
		if s.Kind == "rest" {
			r := httptest.NewRequest(http.MethodDelete, restSession, nil)
			r.Header.Set(restCookie, s.ID)
			vc.inner.ServeHTTP(httptest.NewRecorder(), r)
			continue
		}
		vc.waits.drain(s.ID)
		_, _ = methods.TerminateSession(context.Background(), vc.client, &types.TerminateSession{
			This: *vc.client.ServiceContent.SessionManager, SessionId: []string{s.ID},
		})
	}
	return killed
}

// loginPolicy refuses logins, SOAP and REST alike. With a fault SOAP logins get that one, else InvalidLogin.
type loginPolicy struct {
	Refuse bool   `json:"refuse"`
	Fault  *fault `json:"fault,omitempty"`
	// Lockout locks accounts as vCenter does by default: five refusals within three minutes lock one for five minutes.
	Lockout bool `json:"lockout,omitempty"`
}

const (
	lockoutRefusals = 5
	lockoutWindow   = 3 * time.Minute
	lockoutTime     = 5 * time.Minute
)

// account is what the lockout knows of a user name.
type account struct {
	refused     []time.Time
	lockedUntil time.Time
}

func (vc *vcenter) validLogin(login *types.Login) bool {
	if login.Password == vc.key {
		return true
	}
	vc.mu.Lock()
	defer vc.mu.Unlock()
	valid := !vc.logins.Refuse && login.UserName == vc.user && login.Password == vc.password
	if !vc.logins.Lockout {
		return valid
	}
	name := strings.ToLower(login.UserName)
	known := vc.accounts[name]
	if known == nil {
		known = &account{}
		vc.accounts[name] = known
	}
	now := time.Now()
	if now.Before(known.lockedUntil) {
		return false
	}
	if valid {
		return true
	}
	known.refused = append(known.refused, now)
	for now.Sub(known.refused[0]) > lockoutWindow {
		known.refused = known.refused[1:]
	}
	if len(known.refused) >= lockoutRefusals {
		known.lockedUntil = now.Add(lockoutTime)
	}
	return false
}

// lockedAccounts names the accounts that are locked now.
func (vc *vcenter) lockedAccounts() []string {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	locked := []string{}
	for name, known := range vc.accounts {
		if time.Now().Before(known.lockedUntil) {
			locked = append(locked, name)
		}
	}
	sort.Strings(locked)
	return locked
}

func notAuthenticated() fault {
	return fault{Name: "NotAuthenticated", Message: "The session is not authenticated.", XML: `<object type="Folder">group-d1</object><privilegeId>System.View</privilegeId>`}
}
