package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// options make the simulator behave as vCenter does where it differs. All are on unless switched off.
type options struct {
	// CopyExtraConfigOnClone gives a clone the extraConfig of its source and of the spec, and obeys powerOn.
	CopyExtraConfigOnClone bool `json:"copyExtraConfigOnClone"`
	// ReportTemplates tells collectors that config.template changed.
	ReportTemplates bool `json:"reportTemplates"`
	// ReportRenames changes and reports config.name and summary.config.name with name.
	ReportRenames bool `json:"reportRenames"`
	// DestroyOnAbort destroys the half-made VM and its directory when its lease is aborted.
	DestroyOnAbort bool `json:"destroyOnAbort"`
	// DuplicateNames answers a rename onto another object's name with DuplicateName instead of InvalidArgument.
	DuplicateNames bool `json:"duplicateNames"`
	// BootTraces leaves in a VM's extraConfig what a running VM writes there.
	BootTraces bool `json:"bootTraces"`
	// GuestData lets a machine that is on tell its addresses, as VMware Tools do. Off: it is one more update of each power-on.
	GuestData bool `json:"guestData"`
	// UploadManifest is what the manifest of an import's lease says, which the API describes for downloads.
	UploadManifest string `json:"uploadManifest"`
	// LongCustomValues says what becomes of the value of a custom attribute with more than 255 characters: refuse, truncate
	// or keep.
	LongCustomValues string `json:"longCustomValues"`
}

func defaultOptions() options {
	return options{true, true, true, true, true, true, false, manifestOfDownloads, "refuse"}
}

func (vc *vcenter) chosen() options {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	return vc.options
}

// prior is what must be known before the simulator acts.
type prior struct {
	// aborted is the VM of a lease that is being aborted.
	aborted *types.ManagedObjectReference
	// named is the VM that is being renamed or destroyed.
	named *subject
}

func (vc *vcenter) before(r *http.Request, c *call) prior {
	if c.method == "HttpNfcLeaseAbort" && c.session != nil && vc.chosen().DestroyOnAbort {
		lease, _ := elementText(c.body, "_this")
		return prior{aborted: vc.leaseEntity(r, lease)}
	}
	return prior{named: vc.subjectOf(c)}
}

// after completes what the simulator left undone, before the caller hears of it.
func (vc *vcenter) after(r *http.Request, c *call, was prior, out *httptest.ResponseRecorder) {
	vc.sessions.note(r, c, out)
	set := vc.chosen()
	if out.Code != http.StatusOK {
		return
	}
	switch c.method {
	case "MarkAsTemplate", "MarkAsVirtualMachine":
		if vm := vc.vm(c.this()); vm != nil && set.ReportTemplates {
			template := c.method == "MarkAsTemplate"
			vc.update(vm, types.PropertyChange{Name: "config.template", Val: template},
				types.PropertyChange{Name: "summary.config.template", Val: template})
		}
	case "RetrievePropertiesEx", "ContinueRetrievePropertiesEx", "RetrieveProperties":
		vc.hide(out)
	case "PowerOnVM_Task":
		if info, ok := vc.taskOf(out); ok && info.State == types.TaskInfoStateSuccess {
			vc.leaveTraces(c.this())
			vc.tellGuest(c.this(), true)
		}
	case "PowerOnMultiVM_Task":
		info, _ := vc.taskOf(out)
		if result, ok := info.Result.(types.ClusterPowerOnVmResult); ok {
			vc.afterPowerOns(result.Attempted)
		}
	case "PowerOffVM_Task":
		if info, ok := vc.taskOf(out); ok && info.State == types.TaskInfoStateSuccess {
			vc.tellGuest(c.this(), false)
		}
	case "Rename_Task":
		vc.afterRename(c, set, was.named, out)
	case "Destroy_Task":
		if info, ok := vc.taskOf(out); ok && was.named != nil {
			vc.logName(was.named, "", c.session.ID, info)
		}
	case "CloneVM_Task":
		vc.nameClone(out)
		vc.afterClone(c, set, out)
	case "FindByInventoryPath":
		vc.findInPods(c, out)
	case "HttpNfcLeaseGetManifest":
		changeManifest(set.UploadManifest, out)
	case "HttpNfcLeaseAbort":
		if was.aborted != nil {
			_ = vc.destroy(*was.aborted)
		}
	case "HasPrivilegeOnEntities", "HasPrivilegeOnEntity", "HasUserPrivilegeOnEntities", "FetchUserPrivilegeOnEntities":
		vc.deny(c, out)
	}
}

// afterPowerOns does for each machine of a datacenter's power-on what one's own has done for it.
func (vc *vcenter) afterPowerOns(attempted []types.ClusterAttemptedVmInfo) {
	for _, one := range attempted {
		if one.Task == nil {
			continue
		}
		if info, ok := vc.waitTask(*one.Task); ok && info.State == types.TaskInfoStateSuccess {
			vc.leaveTraces(one.Vm)
			vc.tellGuest(one.Vm, true)
		}
	}
}

func (c *call) this() types.ManagedObjectReference {
	value, kind := elementText(c.body, "_this")
	return types.ManagedObjectReference{Type: kind, Value: value}
}

func (vc *vcenter) afterRename(c *call, set options, was *subject, out *httptest.ResponseRecorder) {
	info, ok := vc.taskOf(out)
	if !ok {
		return
	}
	name, _ := elementText(c.body, "newName")
	if c.session != nil {
		defer func() {
			if ended, ok := vc.taskInfo(info.Task); ok {
				vc.logName(was, name, c.session.ID, ended)
			}
		}()
	}
	if info.State == types.TaskInfoStateError {
		if set.DuplicateNames {
			vc.correctRename(c, info.Task, name)
		}
		return
	}
	if vm := vc.vm(c.this()); vm != nil && set.ReportRenames {
		vc.update(vm, types.PropertyChange{Name: "config.name", Val: name}, types.PropertyChange{Name: "summary.config.name", Val: name})
	}
}

// correctRename turns InvalidArgument(name) into what vCenter says: DuplicateName, or success for the object's own name.
func (vc *vcenter) correctRename(c *call, ref types.ManagedObjectReference, name string) {
	task, _ := vc.registry().Get(ref).(*simulator.Task)
	entity, _ := vc.registry().Get(c.this()).(mo.Entity)
	if task == nil || entity == nil || vc.parent(entity) == nil {
		return
	}
	folder, ok := vc.parent(entity).(*simulator.Folder)
	if !ok {
		return
	}
	owner := vc.registry().FindByName(name, folder.ChildEntity)
	ctx := vc.context()
	vc.registry().WithLock(ctx, task, func() {
		switch {
		case owner == nil:
		case owner.Reference() == entity.Reference():
			task.Info.Error = nil
			ctx.Update(task, []types.PropertyChange{{Name: "info.state", Val: types.TaskInfoStateSuccess}})
		default:
			ctx.Update(task, []types.PropertyChange{{Name: "info.error", Val: types.LocalizedMethodFault{
				Fault:            &types.DuplicateName{Name: name, Object: owner.Reference()},
				LocalizedMessage: "The name '" + name + "' already exists.",
			}}})
		}
	})
}

// afterClone gives the clone its source's extraConfig, the spec's on top, and powers it on if asked.
func (vc *vcenter) afterClone(c *call, set options, out *httptest.ResponseRecorder) {
	info, ok := vc.taskOf(out)
	ref, made := info.Result.(types.ManagedObjectReference)
	request, decoded := decodeCall(c.body).(*types.CloneVM_Task)
	source, clone := vc.vm(c.this()), vc.vm(ref)
	if !ok || !made || !decoded || source == nil || clone == nil || !set.CopyExtraConfigOnClone {
		return
	}
	var extra []types.BaseOptionValue
	if spec := request.Spec.Config; spec != nil {
		extra = spec.ExtraConfig
		// The simulator passes over it. Machine API knows its machines by it.
		if id := spec.InstanceUuid; id != "" {
			vc.update(clone, types.PropertyChange{Name: "config.instanceUuid", Val: id},
				types.PropertyChange{Name: "summary.config.instanceUuid", Val: id})
		}
	}
	vc.inheritExtraConfig(source, clone, extra)
	vc.ownDisks(source, clone)
	if request.Spec.PowerOn {
		_ = vc.power(ref, true)
	}
}

func (vc *vcenter) inheritExtraConfig(source, clone *simulator.VirtualMachine, extra []types.BaseOptionValue) {
	var inherited []types.BaseOptionValue
	vc.registry().WithLock(vc.context(), source, func() {
		inherited = append(inherited, source.Config.ExtraConfig...)
	})
	vc.update(clone, types.PropertyChange{Name: "config.extraConfig", Val: mergeOptions(inherited, extra)})
}

// ownDisks gives the clone its own files again: where the spec edits a disk, the simulator takes the file that it names, which is the source's, and
// would delete that with the clone.
func (vc *vcenter) ownDisks(source, clone *simulator.VirtualMachine) {
	others := map[string]bool{}
	vc.registry().WithLock(vc.context(), source, func() {
		for _, device := range source.Config.Hardware.Device {
			if backing, ok := diskBacking(device); ok {
				others[backing.FileName] = true
			}
		}
	})
	var devices []types.BaseVirtualDevice
	shared, at := false, 0
	vc.registry().WithLock(vc.context(), clone, func() {
		for _, device := range clone.Config.Hardware.Device {
			backing, ok := diskBacking(device)
			if ok {
				name := clone.Name
				if at > 0 {
					name += fmt.Sprintf("_%d", at)
				}
				at++
				if others[backing.FileName] {
					shared = true
					disk, own := *device.(*types.VirtualDisk), *backing
					own.FileName = path.Join(path.Dir(clone.Config.Files.VmPathName), name+".vmdk")
					disk.Backing = &own
					device = &disk
				}
			}
			devices = append(devices, device)
		}
	})
	if shared {
		vc.update(clone, types.PropertyChange{Name: "config.hardware.device", Val: devices})
	}
}

// mergeOptions sets values by key in a copy; an empty value removes the key, as in vCenter.
func mergeOptions(base, changes []types.BaseOptionValue) []types.BaseOptionValue {
	out := []types.BaseOptionValue{}
	set := object.OptionValueList(changes)
	for _, option := range base {
		if _, found := set.Get(option.GetOptionValue().Key); !found {
			value := *option.GetOptionValue()
			out = append(out, &value)
		}
	}
	for _, option := range changes {
		if value := *option.GetOptionValue(); value.Value != "" {
			out = append(out, &value)
		}
	}
	return out
}

// destroy removes a VM and its files without asking the table.
func (vc *vcenter) destroy(ref types.ManagedObjectReference) error {
	was := vc.subject(ref)
	reply, err := methods.Destroy_Task(context.Background(), vc.client, &types.Destroy_Task{This: ref})
	if err != nil {
		return err
	}
	err = vc.ended(reply.Returnval)
	if info, ok := vc.taskInfo(reply.Returnval); ok {
		vc.logName(was, "", "", info)
	}
	return err
}
