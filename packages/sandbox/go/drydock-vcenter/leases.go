package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// leaseTable has a lock per lease for the end of its uploads.
type leaseTable struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

func newLeaseTable() *leaseTable { return &leaseTable{locks: map[string]*sync.Mutex{}} }

func (t *leaseTable) lock(lease string) *sync.Mutex {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks[lease] == nil {
		t.locks[lease] = new(sync.Mutex)
	}
	return t.locks[lease]
}

// leaseEntity asks for the lease's VM in the caller's session: a lease lives in the session that made it.
func (vc *vcenter) leaseEntity(r *http.Request, lease string) *types.ManagedObjectReference {
	ask := envelopeOpen + fmt.Sprintf(`<RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">%s</_this><specSet><propSet>`+
		`<type>HttpNfcLease</type><pathSet>info.entity</pathSet></propSet><objectSet><obj type="HttpNfcLease">%s</obj></objectSet></specSet><options/>`+
		`</RetrievePropertiesEx>`, vc.client.ServiceContent.PropertyCollector.Value, escape(lease)) + envelopeClose
	out := httptest.NewRecorder()
	out.Body = new(bytes.Buffer)
	vc.replay(out, r, []byte(ask))
	value, kind := elementText(out.Body.Bytes(), "val")
	if out.Code != http.StatusOK || value == "" {
		return nil
	}
	return &types.ManagedObjectReference{Type: kind, Value: value}
}
