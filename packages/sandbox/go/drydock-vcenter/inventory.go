package main

import (
	"sort"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// vmView is a VM or template as the switchboard lists it.
type vmView struct {
	Moref          string            `json:"moref"`
	Name           string            `json:"name"`
	IsTemplate     bool              `json:"isTemplate"`
	Path           string            `json:"path"`
	Folder         string            `json:"folder"`
	FolderMoref    string            `json:"folderMoref"`
	Host           string            `json:"host"`
	InstanceUUID   string            `json:"instanceUuid"`
	UUID           string            `json:"uuid"`
	Power          string            `json:"power"`
	Annotation     string            `json:"annotation"`
	Firmware       string            `json:"firmware"`
	SecureBoot     bool              `json:"secureBoot"`
	ProductVersion string            `json:"productVersion"`
	ExtraConfig    map[string]string `json:"extraConfig"`
	CustomValues   map[string]string `json:"customValues"`
	Tags           []string          `json:"tags"`
	Networks       []string          `json:"networks"`
	Datastores     []string          `json:"datastores"`
	Disks          []diskView        `json:"disks"`
	Snapshots      []string          `json:"snapshots"`
	// Tasks that are queued or running on it, by descriptionId.
	Tasks []string `json:"tasks"`
}

// diskView is a disk and the files below it: a linked clone's chain ends in its template's disk.
type diskView struct {
	File       string   `json:"file"`
	CapacityKB int64    `json:"capacityKB"`
	Thin       bool     `json:"thin"`
	Parents    []string `json:"parents"`
}

// objectView is any other object of the inventory.
type objectView struct {
	Moref string `json:"moref"`
	Type  string `json:"type"`
	Name  string `json:"name"`
	Path  string `json:"path"`
	// ConnectionState, PowerState and InMaintenanceMode of a host.
	ConnectionState   string `json:"connectionState,omitempty"`
	PowerState        string `json:"powerState,omitempty"`
	InMaintenanceMode bool   `json:"inMaintenanceMode,omitempty"`
	// FreeSpace and Capacity in bytes, Accessible and MaintenanceMode of a datastore.
	FreeSpace       int64  `json:"freeSpace,omitempty"`
	Capacity        int64  `json:"capacity,omitempty"`
	Accessible      bool   `json:"accessible,omitempty"`
	MaintenanceMode string `json:"maintenanceMode,omitempty"`
}

// path is the inventory path from below the root folder.
func (vc *vcenter) path(item mo.Entity) string {
	var names []string
	for ; item != nil && item.Entity().Parent != nil; item = vc.parent(item) {
		names = append([]string{item.Entity().Name}, names...)
	}
	return "/" + strings.Join(names, "/")
}

func (vc *vcenter) name(ref types.ManagedObjectReference) string {
	if item, ok := vc.registry().Get(ref).(mo.Entity); ok {
		return item.Entity().Name
	}
	return ref.Value
}

func (vc *vcenter) namesOf(refs []types.ManagedObjectReference) []string {
	out := []string{}
	for _, ref := range refs {
		out = append(out, vc.name(ref))
	}
	return out
}

func (vc *vcenter) view(vm *simulator.VirtualMachine) vmView {
	out := vmView{ExtraConfig: map[string]string{}, CustomValues: map[string]string{}, Tags: []string{}, Tasks: vc.activeTasks(vm)}
	vc.registry().WithLock(vc.context(), vm, func() {
		out.Moref, out.Name, out.Path = vm.Self.Value, vm.Name, vc.path(vm)
		out.Power, out.IsTemplate = string(vm.Runtime.PowerState), vm.Config.Template
		out.InstanceUUID, out.UUID, out.Annotation = vm.Config.InstanceUuid, vm.Config.Uuid, vm.Config.Annotation
		out.Firmware = vm.Config.Firmware
		if boot := vm.Config.BootOptions; boot != nil && boot.EfiSecureBootEnabled != nil {
			out.SecureBoot = *boot.EfiSecureBootEnabled
		}
		if vm.Summary.Config.Product != nil {
			out.ProductVersion = vm.Summary.Config.Product.Version
		}
		if info := vAppInfo(vm); out.ProductVersion == "" && info != nil && len(info.Product) > 0 {
			out.ProductVersion = info.Product[0].Version
		}
		for _, option := range vm.Config.ExtraConfig {
			if value, ok := option.GetOptionValue().Value.(string); ok {
				out.ExtraConfig[option.GetOptionValue().Key] = value
			}
		}
		for _, value := range vm.CustomValue {
			if text, ok := value.(*types.CustomFieldStringValue); ok {
				out.CustomValues[vc.customField(text.Key)] = text.Value
			}
		}
		if parent := vc.parent(vm); parent != nil {
			out.Folder, out.FolderMoref = vc.path(parent), parent.Reference().Value
		}
		if vm.Runtime.Host != nil {
			out.Host = vc.name(*vm.Runtime.Host)
		}
		out.Networks, out.Datastores = vc.namesOf(vm.Network), vc.namesOf(vm.Datastore)
		out.Disks, out.Snapshots = disksOf(vm), snapshotsOf(vm)
	})
	return out
}

func disksOf(vm *simulator.VirtualMachine) []diskView {
	out := []diskView{}
	for _, device := range vm.Config.Hardware.Device {
		disk, ok := device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		view := diskView{CapacityKB: disk.CapacityInKB, Parents: []string{}}
		if backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			view.File = backing.FileName
			view.Thin = backing.ThinProvisioned != nil && *backing.ThinProvisioned
			for parent := backing.Parent; parent != nil; parent = parent.Parent {
				view.Parents = append(view.Parents, parent.FileName)
			}
		}
		out = append(out, view)
	}
	return out
}

func snapshotsOf(vm *simulator.VirtualMachine) []string {
	out := []string{}
	var walk func(list []types.VirtualMachineSnapshotTree)
	walk = func(list []types.VirtualMachineSnapshotTree) {
		for _, snapshot := range list {
			out = append(out, snapshot.Name)
			walk(snapshot.ChildSnapshotList)
		}
	}
	if vm.Snapshot != nil {
		walk(vm.Snapshot.RootSnapshotList)
	}
	return out
}

func (vc *vcenter) customField(key int32) string {
	manager, ok := vc.registry().Get(*vc.client.ServiceContent.CustomFieldsManager).(*simulator.CustomFieldsManager)
	if ok {
		for _, field := range manager.Field {
			if field.Key == key {
				return field.Name
			}
		}
	}
	return ""
}

// vms lists VMs, oldest first: all, or only templates, or only what is no template.
func (vc *vcenter) vms(keep func(vmView) bool) []vmView {
	out := []vmView{}
	tags := vc.tagsByObject()
	for _, item := range vc.registry().All("VirtualMachine") {
		vm, ok := item.(*simulator.VirtualMachine)
		if !ok || vm.Config == nil {
			continue
		}
		view := vc.view(vm)
		if attached := tags[vm.Self.Value]; attached != nil {
			view.Tags = attached
		}
		if keep(view) {
			out = append(out, view)
		}
	}
	sort.Slice(out, func(i, j int) bool { return byMoref(out[i].Moref, out[j].Moref) })
	return out
}

func byMoref(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// objects lists every entity of a kind: Datacenter, Folder, ClusterComputeResource, HostSystem, Datastore, Network, …
func (vc *vcenter) objects(kind string) []objectView {
	out := []objectView{}
	for _, item := range vc.registry().All(kind) {
		ref := item.Reference()
		view := objectView{Moref: ref.Value, Type: ref.Type, Name: item.Entity().Name, Path: vc.path(item)}
		if host, ok := item.(*simulator.HostSystem); ok {
			view.ConnectionState, view.PowerState = string(host.Runtime.ConnectionState), string(host.Runtime.PowerState)
			view.InMaintenanceMode = host.Runtime.InMaintenanceMode
		}
		if ds, ok := item.(*simulator.Datastore); ok {
			view.FreeSpace, view.Capacity = ds.Summary.FreeSpace, ds.Summary.Capacity
			view.Accessible, view.MaintenanceMode = ds.Summary.Accessible, ds.Summary.MaintenanceMode
		}
		out = append(out, view)
	}
	sort.Slice(out, func(i, j int) bool { return byMoref(out[i].Moref, out[j].Moref) })
	return out
}
