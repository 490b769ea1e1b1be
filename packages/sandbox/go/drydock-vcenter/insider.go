package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// openInsider logs in over the simulator's own handler; the session is in no list.
func (vc *vcenter) openInsider() error {
	body := envelopeOpen + fmt.Sprintf(`<Login xmlns="urn:vim25"><_this type="SessionManager">%s</_this><userName>%s</userName><password>%s</password></Login>`,
		vc.client.ServiceContent.SessionManager.Value, escape(vc.user), escape(vc.key)) + envelopeClose
	r := httptest.NewRequest(http.MethodPost, "/sdk", bytes.NewReader([]byte(body)))
	out := httptest.NewRecorder()
	vc.inner.ServeHTTP(out, r)
	for _, cookie := range out.Result().Cookies() {
		if cookie.Name == soap.SessionCookieName {
			vc.insider = cookie
			return nil
		}
	}
	return fmt.Errorf("the simulator refused its own user: %s", out.Body.String())
}

// rest calls the simulator's REST side in a session of its own.
func (vc *vcenter) rest(method, path string, in, out any) error {
	login := httptest.NewRequest(http.MethodPost, restSession, nil)
	login.SetBasicAuth(vc.user, vc.key)
	var id struct{ Value string }
	if err := vc.restCall(login, "", &id); err != nil {
		return err
	}
	defer func() { _ = vc.restCall(httptest.NewRequest(http.MethodDelete, restSession, nil), id.Value, nil) }()
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	return vc.restCall(httptest.NewRequest(method, path, &body), id.Value, out)
}

func (vc *vcenter) restCall(r *http.Request, session string, out any) error {
	r.Header.Set("Content-Type", "application/json")
	if session != "" {
		r.Header.Set(restCookie, session)
	}
	answer := httptest.NewRecorder()
	vc.inner.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		return fmt.Errorf("%s %s: HTTP %d %s", r.Method, r.URL.Path, answer.Code, answer.Body.String())
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Body.Bytes(), out)
}

// ended waits for a task and returns its error.
func (vc *vcenter) ended(task types.ManagedObjectReference) error {
	info, ok := vc.waitTask(task)
	if !ok {
		return errors.New("the task has not ended within 30 s")
	}
	if info.Error != nil {
		return fmt.Errorf("%s failed with %T", info.Name, info.Error.Fault)
	}
	return nil
}

// find takes a moref ("vm-12" needs its kind, "VirtualMachine:vm-12" does not) or an inventory path ("/DC0/vm/x").
func (vc *vcenter) find(kind, where string) (types.ManagedObjectReference, error) {
	var ref types.ManagedObjectReference
	if where == "" {
		return ref, fmt.Errorf("the %s to use is not given", kind)
	}
	if where[0] == '/' {
		reply, err := methods.FindByInventoryPath(context.Background(), vc.client, &types.FindByInventoryPath{
			This: *vc.client.ServiceContent.SearchIndex, InventoryPath: where,
		})
		if err != nil {
			return ref, err
		}
		if reply.Returnval == nil {
			return ref, fmt.Errorf("nothing at inventory path %s", where)
		}
		return *reply.Returnval, nil
	}
	if !ref.FromString(where) {
		ref = types.ManagedObjectReference{Type: kind, Value: where}
	}
	if vc.registry().Get(ref) == nil {
		return ref, fmt.Errorf("no %s %s", ref.Type, ref.Value)
	}
	return ref, nil
}

// findNamed also takes the plain name of an object that is unique among its kind.
func (vc *vcenter) findNamed(kind, where string) (types.ManagedObjectReference, error) {
	ref, err := vc.find(kind, where)
	if err == nil {
		return ref, nil
	}
	for _, object := range vc.objects(kind) {
		if object.Name == where {
			return types.ManagedObjectReference{Type: object.Type, Value: object.Moref}, nil
		}
	}
	return ref, err
}

func sortedKeys[V any](values map[string]V) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func contains(list []string, value string) bool { return slices.Contains(list, value) }
