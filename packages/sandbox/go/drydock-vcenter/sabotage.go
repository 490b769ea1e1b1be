package main

import (
	"context"
	"fmt"
	"path"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// power switches a VM, as an administrator would.
func (vc *vcenter) power(ref types.ManagedObjectReference, on bool) error {
	if on {
		reply, err := methods.PowerOnVM_Task(context.Background(), vc.client, &types.PowerOnVM_Task{This: ref})
		if err != nil {
			return err
		}
		if err := vc.ended(reply.Returnval); err != nil {
			return err
		}
		vc.leaveTraces(ref)
		vc.tellGuest(ref, true)
		return nil
	}
	reply, err := methods.PowerOffVM_Task(context.Background(), vc.client, &types.PowerOffVM_Task{This: ref})
	if err != nil {
		return err
	}
	if err := vc.ended(reply.Returnval); err != nil {
		return err
	}
	vc.tellGuest(ref, false)
	return nil
}

// bootTraces are entries of extraConfig that a running VM makes for itself, and that stay when it is off again.
var bootTraces = map[string]string{"monitor.phys_bits_used": "45", "softPowerOff": "FALSE", "vmotion.checkpointFBSize": "4194304"}

func (vc *vcenter) leaveTraces(ref types.ManagedObjectReference) {
	if vm := vc.vm(ref); vm != nil && vc.chosen().BootTraces {
		vc.edit(vm, edit{ExtraConfig: bootTraces})
	}
}

// convert makes a VM of a template or a template of a VM, as an administrator would.
func (vc *vcenter) convert(vm *simulator.VirtualMachine, template bool) error {
	if template {
		if _, err := methods.MarkAsTemplate(context.Background(), vc.client, &types.MarkAsTemplate{This: vm.Self}); err != nil {
			return err
		}
		vc.edit(vm, edit{Template: &template})
		return nil
	}
	host, ok := vc.registry().Get(*vm.Runtime.Host).(*simulator.HostSystem)
	if !ok {
		return fmt.Errorf("%s has no host", vm.Name)
	}
	cluster, ok := vc.parent(host).(*simulator.ClusterComputeResource)
	if !ok {
		return fmt.Errorf("host %s is in no cluster", host.Name)
	}
	_, err := methods.MarkAsVirtualMachine(context.Background(), vc.client,
		&types.MarkAsVirtualMachine{This: vm.Self, Pool: *cluster.ResourcePool, Host: &host.Self})
	if err == nil {
		vc.edit(vm, edit{Template: &template})
	}
	return err
}

func (vc *vcenter) rename(ref types.ManagedObjectReference, name string) error {
	was := vc.subject(ref)
	reply, err := methods.Rename_Task(context.Background(), vc.client, &types.Rename_Task{This: ref, NewName: name})
	if err != nil {
		return err
	}
	err = vc.ended(reply.Returnval)
	if info, ok := vc.taskInfo(reply.Returnval); ok {
		vc.logName(was, name, "", info)
	}
	if err != nil {
		return err
	}
	if vm := vc.vm(ref); vm != nil && vc.chosen().ReportRenames {
		vc.update(vm, types.PropertyChange{Name: "config.name", Val: name}, types.PropertyChange{Name: "summary.config.name", Val: name})
	}
	return nil
}

func (vc *vcenter) move(ref, folder types.ManagedObjectReference) error {
	reply, err := methods.MoveIntoFolder_Task(context.Background(), vc.client, &types.MoveIntoFolder_Task{
		This: folder, List: []types.ManagedObjectReference{ref},
	})
	if err != nil {
		return err
	}
	return vc.ended(reply.Returnval)
}

// snapshot takes one without memory; its disks then have a file more, which linked clones hang from.
func (vc *vcenter) snapshot(ref types.ManagedObjectReference, name string) error {
	reply, err := methods.CreateSnapshot_Task(context.Background(), vc.client, &types.CreateSnapshot_Task{This: ref, Name: name})
	if err != nil {
		return err
	}
	return vc.ended(reply.Returnval)
}

// edit is what an administrator may change behind our back, and more: it edits templates too.
type edit struct {
	ExtraConfig    map[string]string `json:"extraConfig"`
	Annotation     *string           `json:"annotation"`
	InstanceUUID   *string           `json:"instanceUuid"`
	ProductVersion *string           `json:"productVersion"`
	Template       *bool             `json:"template"`
	// ConnectionState is what the VM reports of itself: connected, disconnected, orphaned, inaccessible, invalid.
	ConnectionState *string `json:"connectionState"`
	// DisabledMethods are refused with MethodDisabled, and named in disabledMethod.
	DisabledMethods *[]string `json:"disabledMethods"`
	// Unreadable hides its config from everybody, as that of an inaccessible VM.
	Unreadable *bool `json:"unreadable"`
	// NumCPU is what clones inherit, too.
	NumCPU *int32 `json:"numCPU"`
	// DiskDirectory is where its disks' files are from now on, as after a storage migration.
	DiskDirectory *string `json:"diskDirectory"`
}

func (vc *vcenter) edit(vm *simulator.VirtualMachine, e edit) {
	var changes []types.PropertyChange
	set := func(name string, value any) { changes = append(changes, types.PropertyChange{Name: name, Val: value}) }
	var product types.VAppProductInfo
	var current []types.BaseOptionValue
	vc.registry().WithLock(vc.context(), vm, func() {
		current = append(current, vm.Config.ExtraConfig...)
		if info := vAppInfo(vm); info != nil && len(info.Product) > 0 {
			product = info.Product[0]
		}
	})
	if len(e.ExtraConfig) > 0 {
		set("config.extraConfig", mergeOptions(current, optionValues(e.ExtraConfig)))
	}
	if e.Annotation != nil {
		set("config.annotation", *e.Annotation)
		set("summary.config.annotation", *e.Annotation)
	}
	if e.InstanceUUID != nil {
		set("config.instanceUuid", *e.InstanceUUID)
		set("summary.config.instanceUuid", *e.InstanceUUID)
	}
	if e.Template != nil {
		set("config.template", *e.Template)
		set("summary.config.template", *e.Template)
	}
	if e.ProductVersion != nil {
		if *e.ProductVersion == "" {
			set("config.vAppConfig", nil)
		} else {
			product.Version = *e.ProductVersion
			set("config.vAppConfig", types.BaseVmConfigInfo(&types.VmConfigInfo{Product: []types.VAppProductInfo{product}}))
		}
	}
	if e.ConnectionState != nil {
		state := types.VirtualMachineConnectionState(*e.ConnectionState)
		set("runtime.connectionState", state)
		set("summary.runtime.connectionState", state)
	}
	if e.DisabledMethods != nil {
		set("disabledMethod", *e.DisabledMethods)
	}
	if e.NumCPU != nil {
		set("config.hardware.numCPU", *e.NumCPU)
	}
	if e.Unreadable != nil {
		vc.hidden.set(vm.Self.Value, *e.Unreadable)
	}
	if e.DiskDirectory != nil {
		vc.registry().WithLock(vc.context(), vm, func() { moveDisks(vm, *e.DiskDirectory) })
	}
	if len(changes) > 0 {
		vc.update(vm, changes...)
	}
}

// moveDisks gives the disks' files another directory; everything else of the disks stays.
func moveDisks(vm *simulator.VirtualMachine, directory string) {
	for _, device := range vm.Config.Hardware.Device {
		if backing, ok := diskBacking(device); ok {
			backing.FileName = directory + "/" + path.Base(backing.FileName)
		}
	}
}

func vAppInfo(vm *simulator.VirtualMachine) *types.VmConfigInfo {
	if vm.Config == nil || vm.Config.VAppConfig == nil {
		return nil
	}
	return vm.Config.VAppConfig.GetVmConfigInfo()
}

func optionValues(values map[string]string) []types.BaseOptionValue {
	out := []types.BaseOptionValue{}
	for _, key := range sortedKeys(values) {
		out = append(out, &types.OptionValue{Key: key, Value: values[key]})
	}
	return out
}

// datastoreChange is what a datastore reports of itself.
type datastoreChange struct {
	Datastore       string  `json:"datastore"`
	FreeSpace       *int64  `json:"freeSpace"`
	Accessible      *bool   `json:"accessible"`
	MaintenanceMode *string `json:"maintenanceMode"`
}

func (vc *vcenter) changeDatastore(change datastoreChange) (types.ManagedObjectReference, error) {
	ref, err := vc.findNamed("Datastore", change.Datastore)
	if err != nil {
		return ref, err
	}
	ds, ok := vc.registry().Get(ref).(*simulator.Datastore)
	if !ok {
		return ref, fmt.Errorf("%s is no datastore", change.Datastore)
	}
	var changes []types.PropertyChange
	if change.FreeSpace != nil {
		changes = append(changes, types.PropertyChange{Name: "summary.freeSpace", Val: *change.FreeSpace})
		vc.registry().WithLock(vc.context(), ds, func() { ds.Info.GetDatastoreInfo().FreeSpace = *change.FreeSpace })
	}
	if change.Accessible != nil {
		changes = append(changes, types.PropertyChange{Name: "summary.accessible", Val: *change.Accessible})
	}
	if change.MaintenanceMode != nil {
		changes = append(changes, types.PropertyChange{Name: "summary.maintenanceMode", Val: *change.MaintenanceMode})
	}
	vc.registry().AtomicUpdate(vc.context(), ds, changes)
	return ref, nil
}

// maintenance puts a host into or out of maintenance mode.
func (vc *vcenter) maintenance(host types.ManagedObjectReference, on bool) error {
	var task types.ManagedObjectReference
	if on {
		reply, err := methods.EnterMaintenanceMode_Task(context.Background(), vc.client, &types.EnterMaintenanceMode_Task{This: host})
		if err != nil {
			return err
		}
		task = reply.Returnval
	} else {
		reply, err := methods.ExitMaintenanceMode_Task(context.Background(), vc.client, &types.ExitMaintenanceMode_Task{This: host})
		if err != nil {
			return err
		}
		task = reply.Returnval
	}
	return vc.ended(task)
}

// hostState sets what a host reports of itself; the simulator has no call for it.
func (vc *vcenter) hostState(ref types.ManagedObjectReference, connection, power string, networks *[]string) {
	host, ok := vc.registry().Get(ref).(*simulator.HostSystem)
	if !ok {
		return
	}
	var changes []types.PropertyChange
	if connection != "" {
		state := types.HostSystemConnectionState(connection)
		changes = append(changes, types.PropertyChange{Name: "runtime.connectionState", Val: state},
			types.PropertyChange{Name: "summary.runtime.connectionState", Val: state})
	}
	if power != "" {
		state := types.HostSystemPowerState(power)
		changes = append(changes, types.PropertyChange{Name: "runtime.powerState", Val: state},
			types.PropertyChange{Name: "summary.runtime.powerState", Val: state})
	}
	if networks != nil {
		reached := []types.ManagedObjectReference{}
		for _, where := range *networks {
			if network, err := vc.network(where); err == nil {
				reached = append(reached, network)
			}
		}
		changes = append(changes, types.PropertyChange{Name: "network", Val: reached})
	}
	vc.registry().AtomicUpdate(vc.context(), host, changes)
}

// network takes a network of any kind by path or name.
func (vc *vcenter) network(where string) (types.ManagedObjectReference, error) {
	for _, kind := range []string{"Network", "DistributedVirtualPortgroup", "OpaqueNetwork"} {
		for _, object := range vc.objects(kind) {
			if object.Name == where || object.Path == where {
				return types.ManagedObjectReference{Type: object.Type, Value: object.Moref}, nil
			}
		}
	}
	return types.ManagedObjectReference{}, fmt.Errorf("no network %s", where)
}
