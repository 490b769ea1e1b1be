package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// newPod describes a datastore cluster, and the datastores that are put into it.
type newPod struct {
	Name       string   `json:"name"`
	Datacenter string   `json:"datacenter"`
	Datastores []string `json:"datastores"`
}

func (vc *vcenter) createPod(n newPod) (types.ManagedObjectReference, error) {
	ref, err := vc.findNamed("Datacenter", n.Datacenter)
	if err != nil {
		return ref, err
	}
	dc, ok := vc.registry().Get(ref).(*simulator.Datacenter)
	if !ok || n.Name == "" {
		return ref, fmt.Errorf("a datastore cluster needs a datacenter and a name")
	}
	reply, err := methods.CreateStoragePod(context.Background(), vc.client, &types.CreateStoragePod{This: dc.DatastoreFolder, Name: n.Name})
	if err != nil {
		return ref, err
	}
	for _, where := range n.Datastores {
		datastore, err := vc.findNamed("Datastore", where)
		if err != nil {
			return ref, err
		}
		moved, err := methods.MoveIntoFolder_Task(context.Background(), vc.client,
			&types.MoveIntoFolder_Task{This: reply.Returnval, List: []types.ManagedObjectReference{datastore}})
		if err != nil {
			return ref, err
		}
		if err := vc.ended(moved.Returnval); err != nil {
			return ref, err
		}
	}
	return reply.Returnval, nil
}

// findInPods finds by its path a datastore inside a datastore cluster, into which the simulator's index does not look.
func (vc *vcenter) findInPods(c *call, out *httptest.ResponseRecorder) {
	if bytes.Contains(out.Body.Bytes(), []byte("<returnval")) {
		return
	}
	path, _ := elementText(c.body, "inventoryPath")
	for _, datastore := range vc.objects("Datastore") {
		if datastore.Path != "/"+strings.Trim(path, "/") {
			continue
		}
		out.Body = bytes.NewBufferString(fmt.Sprintf(`%s<FindByInventoryPathResponse xmlns="urn:vim25"><returnval type="Datastore">%s</returnval></FindByInventoryPathResponse>%s`,
			envelopeOpen, escape(datastore.Moref), envelopeClose))
		return
	}
}
