package main

import (
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// refusal is a fault for what may not reach the simulator: logins while they are refused, and inputs that would crash
// or wedge it. Where vCenter answers such an input with a fault, this is that fault.
func (vc *vcenter) refusal(c *call) *fault {
	vc.mu.Lock()
	logins := vc.logins
	vc.mu.Unlock()
	if c.method == "Login" && logins.Refuse && logins.Fault != nil {
		return logins.Fault
	}
	if refused := vc.refuseDisabled(c); refused != nil {
		return refused
	}
	switch c.method {
	case "CreateImportSpec", "ImportVApp", "CreateVM_Task", "CloneVM_Task", "Rename_Task":
		if c.session == nil {
			return nil // the simulator says NotAuthenticated
		}
	case "Destroy_Task":
		return vc.refuseBusy(c.this())
	case "SetField":
		return vc.limitCustomValue(c)
	}
	switch request := decodeCallOf(c).(type) {
	case *types.CreateImportSpec:
		return vc.refuseImportSpec(request)
	case *types.ImportVApp:
		spec, ok := request.Spec.(*types.VirtualMachineImportSpec)
		if !ok {
			return nil
		}
		pool := vc.computeResource(request.This)
		if pool == nil {
			return notFound(request.This)
		}
		folder := vc.defaultFolder(pool)
		if request.Folder != nil {
			folder = *request.Folder
		}
		return vc.refusePlacement(folder, &spec.ConfigSpec, request.This, request.Host)
	case *types.CreateVM_Task:
		return vc.refusePlacement(request.This, &request.Config, request.Pool, request.Host)
	case *types.CloneVM_Task:
		return vc.refuseClone(request)
	case *types.Rename_Task:
		if request.NewName == "" {
			return &fault{Name: "InvalidName", Fields: map[string]string{"name": ""}}
		}
	}
	return nil
}

// refuseDisabled is what a method that a VM has disabled, or one on a VM that is not connected, is answered with.
func (vc *vcenter) refuseDisabled(c *call) *fault {
	switch c.method {
	case "Rename_Task", "Destroy_Task", "ReconfigVM_Task", "MarkAsTemplate", "MarkAsVirtualMachine", "PowerOnVM_Task":
	default:
		return nil
	}
	vm := vc.vm(c.this())
	if vm == nil || c.session == nil {
		return nil
	}
	var disabled, lost bool
	vc.registry().WithLock(vc.context(), vm, func() {
		disabled = contains(vm.DisabledMethod, c.method)
		lost = vm.Runtime.ConnectionState != types.VirtualMachineConnectionStateConnected
	})
	switch {
	case disabled:
		return &fault{Name: "MethodDisabled", Message: "The method is disabled by 'drydock-vcenter'."}
	case lost:
		return &fault{Name: "InvalidState", Message: "The operation is not allowed in the current connection state of the VM."}
	}
	return nil
}

// decodeCallOf decodes only the methods that are judged here.
func decodeCallOf(c *call) any {
	switch c.method {
	case "CreateImportSpec", "ImportVApp", "CreateVM_Task", "CloneVM_Task", "Rename_Task":
		return decodeCall(c.body)
	}
	return nil
}

func notFound(ref types.ManagedObjectReference) *fault {
	return &fault{Name: "ManagedObjectNotFound", Message: "The object " + ref.String() + " does not exist.",
		XML: fmt.Sprintf(`<obj type="%s">%s</obj>`, escape(ref.Type), escape(ref.Value))}
}

func invalidArgument(property string) *fault {
	return &fault{Name: "InvalidArgument", Fields: map[string]string{"invalidProperty": property}}
}

func (vc *vcenter) refuseImportSpec(request *types.CreateImportSpec) *fault {
	if _, ok := vc.registry().Get(request.Datastore).(*simulator.Datastore); !ok {
		return notFound(request.Datastore)
	}
	if request.Cisp == nil {
		return invalidArgument("cisp")
	}
	return nil
}

// computeResource is the cluster or standalone host above a resource pool.
func (vc *vcenter) computeResource(pool types.ManagedObjectReference) mo.Entity {
	item, _ := vc.registry().Get(pool).(mo.Entity)
	for item != nil {
		switch item.Reference().Type {
		case "ComputeResource", "ClusterComputeResource":
			return item
		}
		item = vc.parent(item)
	}
	return nil
}

func (vc *vcenter) parent(item mo.Entity) mo.Entity {
	if item.Entity().Parent == nil {
		return nil
	}
	parent, _ := vc.registry().Get(*item.Entity().Parent).(mo.Entity)
	return parent
}

func (vc *vcenter) datacenter(item mo.Entity) *simulator.Datacenter {
	for ; item != nil; item = vc.parent(item) {
		if dc, ok := item.(*simulator.Datacenter); ok {
			return dc
		}
	}
	return nil
}

func (vc *vcenter) defaultFolder(item mo.Entity) types.ManagedObjectReference {
	if dc := vc.datacenter(item); dc != nil {
		return dc.VmFolder
	}
	return types.ManagedObjectReference{}
}

func hostsOf(compute mo.Entity) []types.ManagedObjectReference {
	switch c := compute.(type) {
	case *simulator.ClusterComputeResource:
		return c.Host
	case *mo.ComputeResource:
		return c.Host
	}
	return nil
}

// datastoreNamed finds the datastore of "[name] path" in a datacenter.
func (vc *vcenter) datastoreNamed(dc *simulator.Datacenter, name string) *simulator.Datastore {
	for _, ref := range dc.Datastore {
		if ds, ok := vc.registry().Get(ref).(*simulator.Datastore); ok && ds.Name == name {
			return ds
		}
	}
	return nil
}

func (vc *vcenter) mounts(host, datastore types.ManagedObjectReference) bool {
	h, ok := vc.registry().Get(host).(*simulator.HostSystem)
	if !ok {
		return false
	}
	for _, ref := range h.Datastore {
		if ref == datastore {
			return true
		}
	}
	return false
}

// refusePlacement refuses a new VM whose files no host of its could reach: the simulator panics in a task.
func (vc *vcenter) refusePlacement(folder types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec, pool types.ManagedObjectReference, host *types.ManagedObjectReference) *fault {
	parent, ok := vc.registry().Get(folder).(*simulator.Folder)
	if !ok {
		return notFound(folder)
	}
	dc := vc.datacenter(parent)
	if dc == nil || spec.Files == nil {
		return invalidArgument("folder")
	}
	var path object.DatastorePath
	if !path.FromString(spec.Files.VmPathName) {
		return &fault{Name: "InvalidDatastorePath", Fields: map[string]string{"datastorePath": spec.Files.VmPathName}}
	}
	ds := vc.datastoreNamed(dc, path.Datastore)
	if ds == nil {
		return &fault{Name: "InvalidDatastore", Fields: map[string]string{"name": path.Datastore}}
	}
	return vc.refuseUnmounted(ds, pool, host)
}

func (vc *vcenter) refuseUnmounted(ds *simulator.Datastore, pool types.ManagedObjectReference, host *types.ManagedObjectReference) *fault {
	compute := vc.computeResource(pool)
	if compute == nil {
		return notFound(pool)
	}
	hosts := hostsOf(compute)
	if host != nil {
		if _, ok := vc.registry().Get(*host).(*simulator.HostSystem); !ok {
			return notFound(*host)
		}
		hosts = []types.ManagedObjectReference{*host}
	}
	for _, candidate := range hosts {
		if vc.mounts(candidate, ds.Self) {
			return nil
		}
	}
	return &fault{
		Name: "InvalidDatastore", Message: "The datastore " + ds.Name + " is not accessible from the chosen host or cluster.",
		XML: fmt.Sprintf(`<datastore type="Datastore">%s</datastore><name>%s</name>`, escape(ds.Self.Value), escape(ds.Name)),
	}
}

func (vc *vcenter) refuseClone(request *types.CloneVM_Task) *fault {
	vm := vc.vm(request.This)
	if vm == nil {
		return notFound(request.This)
	}
	if _, ok := vc.registry().Get(request.Folder).(*simulator.Folder); !ok {
		return notFound(request.Folder)
	}
	where := request.Spec.Location
	host := where.Host
	if host == nil {
		host = vm.Runtime.Host
	}
	if host == nil {
		return invalidArgument("spec.location.host")
	}
	if where.Datastore == nil {
		return nil
	}
	ds, ok := vc.registry().Get(*where.Datastore).(*simulator.Datastore)
	if !ok {
		return notFound(*where.Datastore)
	}
	if !vc.mounts(*host, ds.Self) {
		return &fault{Name: "InvalidDatastore", Fields: map[string]string{"name": ds.Name},
			Message: "The simulator clones on spec.location.host, or else on the source's host, which does not mount " + ds.Name + "."}
	}
	return nil
}
