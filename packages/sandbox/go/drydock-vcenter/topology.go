package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// ensureFolder makes the folders of a path, as far as they are missing, below a datacenter's vm folder or the like.
func (vc *vcenter) ensureFolder(path string) (types.ManagedObjectReference, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 {
		return types.ManagedObjectReference{}, fmt.Errorf("folder path %q must look like /DC0/vm/name", path)
	}
	at, err := vc.find("Folder", "/"+strings.Join(parts[:2], "/"))
	for _, name := range parts[2:] {
		if err != nil {
			break
		}
		folder, ok := vc.registry().Get(at).(*simulator.Folder)
		if !ok {
			return at, fmt.Errorf("%s is no folder", at)
		}
		if child := vc.registry().FindByName(name, folder.ChildEntity); child != nil {
			at = child.Reference()
			continue
		}
		var reply *types.CreateFolderResponse
		reply, err = methods.CreateFolder(context.Background(), vc.client, &types.CreateFolder{This: at, Name: name})
		if err == nil {
			at = reply.Returnval
		}
	}
	return at, err
}

// newVM describes a VM to be made, as a foreign tool or an administrator would.
type newVM struct {
	Name           string            `json:"name"`
	Folder         string            `json:"folder"`
	Cluster        string            `json:"cluster"`
	Host           string            `json:"host"`
	Datastore      string            `json:"datastore"`
	InstanceUUID   string            `json:"instanceUuid"`
	ExtraConfig    map[string]string `json:"extraConfig"`
	Annotation     string            `json:"annotation"`
	ProductVersion string            `json:"productVersion"`
	// Disks of 1 MiB, thin; at most two.
	Disks    int  `json:"disks"`
	Template bool `json:"template"`
	PowerOn  bool `json:"powerOn"`
}

// smallDisks are on the IDE controller that every VM of the simulator has.
func smallDisks(count int) []types.BaseVirtualDeviceConfigSpec {
	const ideController = 200
	out := []types.BaseVirtualDeviceConfigSpec{}
	for unit := range min(count, 2) {
		number := int32(unit)
		out = append(out, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			Device: &types.VirtualDisk{CapacityInKB: 1024, VirtualDevice: types.VirtualDevice{
				Key: -1 - number, ControllerKey: ideController, UnitNumber: &number,
				Backing: &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent), ThinProvisioned: types.NewBool(true)},
			}},
		})
	}
	return out
}

// placement chooses pool, host and datastore: the first ones that fit what is given.
func (vc *vcenter) placement(folder types.ManagedObjectReference, cluster, host, datastore string) (pool, on types.ManagedObjectReference, ds *simulator.Datastore, err error) {
	parent, _ := vc.registry().Get(folder).(mo.Entity)
	dc := vc.datacenter(parent)
	if dc == nil {
		return pool, on, nil, errors.New("the folder is in no datacenter")
	}
	for _, item := range vc.objects("ClusterComputeResource") {
		c := vc.registry().Get(types.ManagedObjectReference{Type: item.Type, Value: item.Moref}).(*simulator.ClusterComputeResource)
		if vc.datacenter(c) != dc || cluster != "" && cluster != item.Moref && cluster != item.Name && cluster != item.Path {
			continue
		}
		for _, candidate := range c.Host {
			if host != "" && host != candidate.Value && host != vc.name(candidate) {
				continue
			}
			h := vc.registry().Get(candidate).(*simulator.HostSystem)
			for _, mounted := range h.Datastore {
				d, ok := vc.registry().Get(mounted).(*simulator.Datastore)
				if ok && (datastore == "" || datastore == d.Self.Value || datastore == d.Name || datastore == vc.path(d)) {
					return *c.ResourcePool, candidate, d, nil
				}
			}
		}
	}
	return pool, on, nil, fmt.Errorf("no host of cluster %q, host %q mounts datastore %q in %s", cluster, host, datastore, dc.Name)
}

// createVM makes a VM or template and returns its moref.
func (vc *vcenter) createVM(n newVM) (types.ManagedObjectReference, error) {
	folder, err := vc.find("Folder", n.Folder)
	if err != nil {
		return folder, err
	}
	pool, host, ds, err := vc.placement(folder, n.Cluster, n.Host, n.Datastore)
	if err != nil {
		return folder, err
	}
	path := object.DatastorePath{Datastore: ds.Name}
	reply, err := methods.CreateVM_Task(context.Background(), vc.client, &types.CreateVM_Task{
		This: folder, Pool: pool, Host: &host, Config: types.VirtualMachineConfigSpec{
			Name: n.Name, GuestId: "rhel8_64Guest", NumCPUs: 2, MemoryMB: 1024, Annotation: n.Annotation, InstanceUuid: n.InstanceUUID,
			Files: &types.VirtualMachineFileInfo{VmPathName: path.String()}, ExtraConfig: optionValues(n.ExtraConfig),
			DeviceChange: smallDisks(n.Disks),
		},
	})
	if err != nil {
		return folder, err
	}
	info, _ := vc.waitTask(reply.Returnval)
	ref, ok := info.Result.(types.ManagedObjectReference)
	if !ok {
		return ref, vc.ended(reply.Returnval)
	}
	change := edit{}
	if n.ProductVersion != "" {
		change.ProductVersion = &n.ProductVersion
	}
	vc.edit(vc.vm(ref), change)
	if n.Template {
		_, err = methods.MarkAsTemplate(context.Background(), vc.client, &types.MarkAsTemplate{This: ref})
	} else if n.PowerOn {
		err = vc.power(ref, true)
	}
	return ref, err
}

// newClone describes a worker machine: a clone with its template's extraConfig.
type newClone struct {
	Template    string            `json:"template"`
	Name        string            `json:"name"`
	Folder      string            `json:"folder"`
	ExtraConfig map[string]string `json:"extraConfig"`
	// Linked: its disks hold only what differs from the template's, which stay below them.
	Linked  bool `json:"linked"`
	PowerOn bool `json:"powerOn"`
}

func (vc *vcenter) createClone(n newClone) (types.ManagedObjectReference, error) {
	source, err := vc.find("VirtualMachine", n.Template)
	if err != nil {
		return source, err
	}
	vm := vc.vm(source)
	if vm == nil || vm.Runtime.Host == nil || vm.Parent == nil {
		return source, fmt.Errorf("%s cannot be cloned", n.Template)
	}
	folder := *vm.Parent
	if n.Folder != "" {
		if folder, err = vc.find("Folder", n.Folder); err != nil {
			return folder, err
		}
	}
	host := vc.registry().Get(*vm.Runtime.Host).(*simulator.HostSystem)
	cluster, ok := vc.parent(host).(*simulator.ClusterComputeResource)
	if !ok {
		return source, fmt.Errorf("host %s is in no cluster", host.Name)
	}
	reply, err := methods.CloneVM_Task(context.Background(), vc.client, &types.CloneVM_Task{
		This: source, Folder: folder, Name: n.Name,
		Spec: types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: cluster.ResourcePool, Host: &host.Self}},
	})
	if err != nil {
		return source, err
	}
	info, _ := vc.waitTask(reply.Returnval)
	ref, ok := info.Result.(types.ManagedObjectReference)
	if !ok {
		return ref, vc.ended(reply.Returnval)
	}
	vc.inheritExtraConfig(vm, vc.vm(ref), optionValues(n.ExtraConfig))
	if n.Linked {
		if err := vc.link(vm, vc.vm(ref)); err != nil {
			return ref, err
		}
	}
	if n.PowerOn {
		err = vc.power(ref, true)
	}
	return ref, err
}

// link puts the source's disks below the clone's, which the simulator's CloneVM_Task never does.
func (vc *vcenter) link(source, clone *simulator.VirtualMachine) error {
	var below []*types.VirtualDiskFlatVer2BackingInfo
	vc.registry().WithLock(vc.context(), source, func() {
		for _, device := range source.Config.Hardware.Device {
			if backing, ok := diskBacking(device); ok {
				copied := *backing
				below = append(below, &copied)
			}
		}
	})
	if len(below) == 0 {
		return fmt.Errorf("%s has no disk to link to", source.Name)
	}
	var devices []types.BaseVirtualDevice
	vc.registry().WithLock(vc.context(), clone, func() {
		at := 0
		for _, device := range clone.Config.Hardware.Device {
			if backing, ok := diskBacking(device); ok && at < len(below) {
				disk, above := *device.(*types.VirtualDisk), *backing
				above.Parent = below[at]
				disk.Backing = &above
				device = &disk
				at++
			}
			devices = append(devices, device)
		}
	})
	vc.update(clone, types.PropertyChange{Name: "config.hardware.device", Val: devices})
	return nil
}

func diskBacking(device types.BaseVirtualDevice) (*types.VirtualDiskFlatVer2BackingInfo, bool) {
	disk, ok := device.(*types.VirtualDisk)
	if !ok {
		return nil, false
	}
	backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	return backing, ok
}

// createDatastore makes a local datastore on the given hosts, or on all hosts of a cluster: a zone's own storage.
func (vc *vcenter) createDatastore(name, cluster string, hosts []string) (types.ManagedObjectReference, error) {
	var ref types.ManagedObjectReference
	if cluster != "" {
		found, err := vc.find("ClusterComputeResource", cluster)
		if err != nil {
			return ref, err
		}
		for _, host := range hostsOf(vc.registry().Get(found).(mo.Entity)) {
			hosts = append(hosts, host.Value)
		}
	}
	if name == "" || len(hosts) == 0 {
		return ref, errors.New("a datastore needs a name, and a cluster or hosts")
	}
	// The model's own directory is removed with the model.
	dir, err := os.MkdirTemp(vc.home(), "added-")
	if err != nil {
		return ref, err
	}
	for _, where := range hosts {
		found, err := vc.find("HostSystem", where)
		if err != nil {
			return ref, err
		}
		host, ok := vc.registry().Get(found).(*simulator.HostSystem)
		if !ok || host.ConfigManager.DatastoreSystem == nil {
			return ref, fmt.Errorf("%s is no host", where)
		}
		reply, err := methods.CreateLocalDatastore(context.Background(), vc.client, &types.CreateLocalDatastore{
			This: *host.ConfigManager.DatastoreSystem, Name: name, Path: dir,
		})
		if err != nil {
			return ref, fmt.Errorf("datastore %s on %s: %w", name, where, err)
		}
		// Only the first host's answer names the datastore: the others mount it.
		if reply.Returnval.Value != "" {
			ref = reply.Returnval
		}
	}
	return ref, nil
}

func (vc *vcenter) home() string {
	for _, option := range vc.registry().OptionManager().Setting {
		if home, ok := option.GetOptionValue().Value.(string); ok && option.GetOptionValue().Key == "vcsim.home" {
			return home
		}
	}
	return ""
}
