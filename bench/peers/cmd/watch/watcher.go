package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// paths are those that vm-operator watches.
var paths = strings.Fields(`config.annotation config.changeTrackingEnabled config.cpuAllocation config.cpuHotAddEnabled config.extraConfig
	config.flags.vvtdEnabled config.hardware.autoCoresPerSocket config.hardware.device config.hardware.memoryMB config.hardware.numCoresPerSocket
	config.hardware.numCPU config.hardware.simultaneousThreads config.keyId config.latencySensitivity config.memoryAllocation config.memoryHotAddEnabled
	config.memoryReservationLockedToMax config.nestedHVEnabled config.numaInfo config.vPMCEnabled guestHeartbeatStatus rootSnapshot snapshot
	summary.config.name summary.guest summary.overallStatus summary.runtime.connectionState summary.runtime.host summary.runtime.powerState resourcePool parent`)

// ignored are those of its ignored keys that the synthetic machines have.
var ignored = map[string]bool{"vmservice.namespacedName": true, "guestInfo.detailed.data": true, "guestinfo.vmtools.buildNumber": true}

// seed is one for the process, as the hashes live as long as it does.
var seed = maphash.MakeSeed()

type watcher struct {
	client    *vim25.Client
	container types.ManagedObjectReference
	verified  bool
	requests  chan string
	synced    func()
	once      sync.Once
	// known outlives the connections: machine, property, hash.
	known map[types.ManagedObjectReference]map[string]string
}

// run starts a new watcher whenever the last one ended, for whatever reason.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.watch(ctx); err != nil {
			time.Sleep(time.Millisecond)
		}
	}
}

func (w *watcher) watch(ctx context.Context) error {
	views := view.NewManager(w.client)
	container, err := views.CreateContainerView(ctx, w.container, []string{"VirtualMachine"}, true)
	if err != nil {
		return err
	}
	defer func() { _ = container.Destroy(ctx) }()
	list, err := views.CreateListView(ctx, []types.ManagedObjectReference{container.Reference()})
	if err != nil {
		return err
	}
	defer func() { _ = list.Destroy(ctx) }()
	collector, err := property.DefaultCollector(w.client).Create(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = collector.Destroy(ctx) }()
	if _, err := methods.CreateFilter(ctx, w.client, filter(collector.Reference(), list.Reference())); err != nil {
		return err
	}
	version := ""
	for {
		answer, err := methods.WaitForUpdatesEx(ctx, w.client, &types.WaitForUpdatesEx{
			This:    collector.Reference(),
			Version: version,
			Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(300), MaxObjectUpdates: 100},
		})
		if err != nil {
			return err
		}
		if answer.Returnval == nil {
			continue
		}
		version = answer.Returnval.Version
		for _, set := range answer.Returnval.FilterSet {
			if err := w.onUpdate(set.ObjectSet); err != nil {
				return err
			}
		}
		if answer.Returnval.Truncated == nil || !*answer.Returnval.Truncated {
			w.once.Do(w.synced)
		}
	}
}

func filter(collector, list types.ManagedObjectReference) *types.CreateFilter {
	visit := &types.SelectionSpec{Name: "visitViews"}
	return &types.CreateFilter{
		This: collector,
		Spec: types.PropertyFilterSpec{
			PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}},
			ObjectSet: []types.ObjectSpec{{
				Obj:  list,
				Skip: types.NewBool(true),
				SelectSet: []types.BaseSelectionSpec{
					&types.TraversalSpec{Type: "ListView", Path: "view", SelectSet: []types.BaseSelectionSpec{visit}},
					&types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: "visitViews"}, Type: "ContainerView", Path: "view"},
				},
			}},
		},
	}
}

// onUpdate merges what one answer says of a machine; the first entry says of which kind it is, and what left is not looked at.
func (w *watcher) onUpdate(objects []types.ObjectUpdate) error {
	merged := map[types.ManagedObjectReference]*types.ObjectUpdate{}
	for i := range objects {
		update := &objects[i]
		if update.Kind == types.ObjectUpdateKindLeave {
			continue
		}
		if first, seen := merged[update.Obj]; seen {
			first.ChangeSet = append(first.ChangeSet, update.ChangeSet...)
			continue
		}
		merged[update.Obj] = update
	}
	for _, update := range merged {
		if err := w.onObject(update); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) onObject(update *types.ObjectUpdate) error {
	properties, seen := w.known[update.Obj]
	if !seen {
		properties = map[string]string{}
		w.known[update.Obj] = properties
	}
	changed, owner := !seen, ""
	for _, change := range update.ChangeSet {
		value, name := toCompare(change)
		if name != "" {
			owner = name
		}
		if value == nil {
			continue
		}
		hash, err := hashOf(change.Name, value)
		if err != nil {
			return err
		}
		if before, had := properties[change.Name]; !had || before != hash {
			properties[change.Name] = hash
			changed = true
		}
	}
	if !changed || (update.Kind == types.ObjectUpdateKindEnter && w.verified) {
		return nil
	}
	// Whose machine it is: from the change, else the look-up's word, which is that of the machine here.
	_ = owner
	machine := update.Obj.Value
	go func() { w.requests <- machine }()
	return nil
}

// toCompare is what is compared of a change, nil where nothing is, and the name that the machine carries.
func toCompare(change types.PropertyChange) (any, string) {
	switch value := change.Val.(type) {
	case nil:
		return nil, ""
	case types.ArrayOfOptionValue:
		owner := ""
		kept := make([]types.OptionValue, 0, len(value.OptionValue))
		for _, base := range value.OptionValue {
			option := base.GetOptionValue()
			if option.Key == "vmservice.namespacedName" {
				owner, _ = option.Value.(string)
			}
			if !ignored[option.Key] {
				kept = append(kept, *option)
			}
		}
		if len(kept) == 0 {
			return nil, owner
		}
		slices.SortFunc(kept, func(a, b types.OptionValue) int { return strings.Compare(a.Key, b.Key) })
		return kept, owner
	case types.ArrayOfVirtualDevice:
		slices.SortFunc(value.VirtualDevice, func(a, b types.BaseVirtualDevice) int {
			return int(a.GetVirtualDevice().Key - b.GetVirtualDevice().Key)
		})
		return value, ""
	default:
		return value, ""
	}
}

func hashOf(name string, value any) (string, error) {
	if text, plain := value.(string); plain && name == "summary.config.name" {
		return text, nil
	}
	bytes, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", maphash.Bytes(seed, bytes)), nil
}
