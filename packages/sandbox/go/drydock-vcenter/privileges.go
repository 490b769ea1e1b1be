package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// required names what vCenter asks for before it acts, by SOAP method or REST call: a denied one is a NoPermission that names it.
// Reads are not in it: a user without System.View sees an inventory with holes, which nothing here needs yet.
var required = map[string][]string{
	"AddCustomFieldDef":    {"Global.ManageCustomFields"},
	"CloneVM_Task":         {"VirtualMachine.Provisioning.DeployTemplate", "VirtualMachine.Inventory.CreateFromExisting", "Datastore.AllocateSpace"},
	"CreateFolder":         {"Folder.Create"},
	"CreateSnapshot_Task":  {"VirtualMachine.State.CreateSnapshot"},
	"CreateVM_Task":        {"VirtualMachine.Inventory.Create", "Datastore.AllocateSpace"},
	"Destroy_Task":         {"VirtualMachine.Inventory.Delete"},
	"ImportVApp":           {"VApp.Import", "VirtualMachine.Inventory.Create", "VirtualMachine.Config.AddNewDisk", "Resource.AssignVMToPool", "Datastore.AllocateSpace", "Network.Assign"},
	"MarkAsTemplate":       {"VirtualMachine.Provisioning.MarkAsTemplate"},
	"MarkAsVirtualMachine": {"VirtualMachine.Provisioning.MarkAsVM"},
	"MoveIntoFolder_Task":  {"VirtualMachine.Inventory.Move"},
	"PowerOnVM_Task":       {"VirtualMachine.Interact.PowerOn"},
	"ReconfigVM_Task":      {"VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.Settings"},
	"Rename_Task":          {"VirtualMachine.Config.Rename"},
	"SetField":             {"Global.SetCustomField"},
	"POST " + tagging + "tag-association/id:*?~action=attach":                    {"InventoryService.Tagging.AttachTag"},
	"POST " + tagging + "tag-association?~action=attach-multiple-tags-to-object": {"InventoryService.Tagging.AttachTag"},
}

// lacking is the first privilege that a call needs and that is denied.
func (vc *vcenter) lacking(c *call) string {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	for _, privilege := range required[c.method] {
		if c.session != nil && vc.denied[privilege] {
			return privilege
		}
	}
	return ""
}

// refusePrivilege answers a call whose caller lacks a privilege. False: nothing is lacking.
func (vc *vcenter) refusePrivilege(w http.ResponseWriter, r *http.Request, c *call) bool {
	privilege := vc.lacking(c)
	if privilege == "" {
		return false
	}
	if isREST(r.URL.Path) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		message := map[string]any{"id": "vapi.security.authorization.invalid", "default_message": "Unable to authorize user", "args": []string{privilege}}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"type": "com.vmware.vapi.std.errors.unauthorized", "value": map[string]any{"messages": []any{message}},
		})
		return true
	}
	on := c.this()
	writeFault(w, fault{Name: "NoPermission", Message: "Permission to perform this operation was denied.", XML: fmt.Sprintf(
		`<object type="%s">%s</object><privilegeId>%s</privilegeId>`, escape(on.Type), escape(on.Value), escape(privilege))})
	return true
}

// deny takes the denied privileges out of an answer in which the simulator grants everything.
func (vc *vcenter) deny(c *call, out *httptest.ResponseRecorder) {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	text := out.Body.String()
	for name := range vc.denied {
		id := escape(name)
		text = strings.ReplaceAll(text, "<privId>"+id+"</privId><isGranted>true</isGranted>", "<privId>"+id+"</privId><isGranted>false</isGranted>")
		text = strings.ReplaceAll(text, "<privileges>"+id+"</privileges>", "")
	}
	if request, ok := decodeCall(c.body).(*types.HasPrivilegeOnEntity); ok {
		var granted strings.Builder
		for _, id := range request.PrivId {
			granted.WriteString("<returnval>" + map[bool]string{true: "false", false: "true"}[vc.denied[id]] + "</returnval>")
		}
		first, last := strings.Index(text, "<returnval>"), strings.LastIndex(text, "</returnval>")
		if first >= 0 && last > first {
			text = text[:first] + granted.String() + text[last+len("</returnval>"):]
		}
	}
	out.Body.Reset()
	out.Body.WriteString(text)
}
