package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

func patchOptions(r *http.Request, at *options) (options, error) {
	changed := *at
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&changed); err != nil {
		return *at, fmt.Errorf("options: %w", err)
	}
	*at = changed
	return changed, nil
}

// sabotage names a VM and what to do to it; each route reads the fields that it needs.
type sabotage struct {
	VM     string `json:"vm"`
	Name   string `json:"name"`
	On     bool   `json:"on"`
	Folder string `json:"folder"`
	Field  string `json:"field"`
	Value  string `json:"value"`
	edit
}

func (vc *vcenter) onVM(act func(vm *simulator.VirtualMachine, s sabotage) error) route {
	return func(r *http.Request) (any, error) {
		s, err := decode[sabotage](r)
		if err != nil {
			return nil, err
		}
		ref, err := vc.find("VirtualMachine", s.VM)
		if err != nil {
			return nil, err
		}
		vm := vc.vm(ref)
		if vm == nil {
			return nil, fmt.Errorf("%s is no VM", s.VM)
		}
		return named(ref), act(vm, s)
	}
}

// made answers with the object that was made.
func made[T any](act func(T) (types.ManagedObjectReference, error)) route {
	return func(r *http.Request) (any, error) {
		wanted, err := decode[T](r)
		if err != nil {
			return nil, err
		}
		ref, err := act(wanted)
		return named(ref), err
	}
}

type newFolder struct {
	Path string `json:"path"`
}

type newDatastore struct {
	Name    string   `json:"name"`
	Cluster string   `json:"cluster"`
	Hosts   []string `json:"hosts"`
}

type newTag struct {
	Category string `json:"category"`
	Name     string `json:"name"`
	// AttachTo names objects by path, or by type and moref ("VirtualMachine:vm-12").
	AttachTo []string `json:"attachTo"`
}

type hostChange struct {
	Host            string `json:"host"`
	Maintenance     *bool  `json:"maintenance"`
	ConnectionState string `json:"connectionState"`
	PowerState      string `json:"powerState"`
	// Networks that it reaches, by name or path.
	Networks *[]string `json:"networks"`
}

func (vc *vcenter) setupRoutes() map[string]route {
	return map[string]route{
		"POST /vms":     made(vc.createVM),
		"POST /clones":  made(vc.createClone),
		"POST /folders": made(func(n newFolder) (types.ManagedObjectReference, error) { return vc.ensureFolder(n.Path) }),
		"POST /datastores": made(func(n newDatastore) (types.ManagedObjectReference, error) {
			return vc.createDatastore(n.Name, n.Cluster, n.Hosts)
		}),
		"POST /datastores/edit": made(vc.changeDatastore),
		"POST /pods":            made(vc.createPod),
		"POST /hosts":           made(vc.changeHost),
		"POST /tags": func(r *http.Request) (any, error) {
			n, err := decode[newTag](r)
			if err != nil {
				return nil, err
			}
			return vc.createTag(n)
		},
		"DELETE /tags/{category}/{name}": func(r *http.Request) (any, error) {
			return nil, vc.removeTag(r.PathValue("category"), r.PathValue("name"))
		},
		"POST /vms/rename": vc.onVM(func(vm *simulator.VirtualMachine, s sabotage) error {
			if s.Name == "" {
				return fmt.Errorf("a VM needs a name")
			}
			return vc.rename(vm.Self, s.Name)
		}),
		"POST /vms/destroy": vc.onVM(func(vm *simulator.VirtualMachine, _ sabotage) error { return vc.destroy(vm.Self) }),
		"POST /vms/power":   vc.onVM(func(vm *simulator.VirtualMachine, s sabotage) error { return vc.power(vm.Self, s.On) }),
		"POST /vms/convert": vc.onVM(func(vm *simulator.VirtualMachine, s sabotage) error { return vc.convert(vm, s.On) }),
		"POST /vms/snapshot": vc.onVM(func(vm *simulator.VirtualMachine, s sabotage) error {
			return vc.snapshot(vm.Self, s.Name)
		}),
		"POST /vms/edit": vc.onVM(func(vm *simulator.VirtualMachine, s sabotage) error {
			vc.edit(vm, s.edit)
			return nil
		}),
		"POST /vms/move": vc.onVM(func(vm *simulator.VirtualMachine, s sabotage) error {
			folder, err := vc.find("Folder", s.Folder)
			if err != nil {
				return err
			}
			return vc.move(vm.Self, folder)
		}),
		"POST /vms/custom-value": vc.onVM(func(vm *simulator.VirtualMachine, s sabotage) error {
			return vc.setCustomValue(vm.Self, s.Field, s.Value)
		}),
	}
}

func (vc *vcenter) createTag(n newTag) (any, error) {
	id, err := vc.ensureTag(n.Category, n.Name)
	for _, where := range n.AttachTo {
		if err != nil {
			break
		}
		var ref types.ManagedObjectReference
		if ref, err = vc.find("VirtualMachine", where); err == nil {
			err = vc.attachTag(id, ref)
		}
	}
	return map[string]string{"id": id}, err
}

func (vc *vcenter) changeHost(change hostChange) (types.ManagedObjectReference, error) {
	ref, err := vc.findNamed("HostSystem", change.Host)
	if err != nil {
		return ref, err
	}
	vc.hostState(ref, change.ConnectionState, change.PowerState, change.Networks)
	if change.Maintenance != nil {
		err = vc.maintenance(ref, *change.Maintenance)
	}
	return ref, err
}

// setCustomValue sets a custom attribute and defines it first where needed.
func (vc *vcenter) setCustomValue(ref types.ManagedObjectReference, field, value string) error {
	manager := *vc.client.ServiceContent.CustomFieldsManager
	fields, ok := vc.registry().Get(manager).(*simulator.CustomFieldsManager)
	if !ok || field == "" {
		return fmt.Errorf("the custom attribute to set is not given")
	}
	var key int32 = -1
	for _, known := range fields.Field {
		if known.Name == field {
			key = known.Key
		}
	}
	if key < 0 {
		reply, err := methods.AddCustomFieldDef(context.Background(), vc.client, &types.AddCustomFieldDef{This: manager, Name: field, MoType: "VirtualMachine"})
		if err != nil {
			return err
		}
		key = reply.Returnval.Key
	}
	_, err := methods.SetField(context.Background(), vc.client, &types.SetField{This: manager, Entity: ref, Key: key, Value: value})
	return err
}
