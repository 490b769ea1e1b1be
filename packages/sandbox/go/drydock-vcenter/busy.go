package main

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// busyTable has the tasks that the switchboard began on VMs and that nothing but the switchboard ends: a clone that runs
// for as long as a test likes. While one runs, its VM cannot be destroyed, as in vCenter.
type busyTable struct {
	mu    sync.Mutex
	tasks map[string]*simulator.Task
}

func newBusyTable() *busyTable { return &busyTable{tasks: map[string]*simulator.Task{}} }

func (t *busyTable) put(task *simulator.Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tasks[task.Self.Value] = task
}

func (t *busyTable) take(id string) *simulator.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	task := t.tasks[id]
	delete(t.tasks, id)
	return task
}

// on is a task that runs on the VM, or nil.
func (t *busyTable) on(vm types.ManagedObjectReference) *simulator.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, task := range t.tasks {
		if task.Info.Entity != nil && *task.Info.Entity == vm {
			return task
		}
	}
	return nil
}

// refuseBusy is what destroying a VM with a running task of the table is answered with.
func (vc *vcenter) refuseBusy(vm types.ManagedObjectReference) *fault {
	task := vc.busy.on(vm)
	if task == nil {
		return nil
	}
	return &fault{Name: "TaskInProgress", Message: "The operation is not allowed while " + task.Info.Name + " runs on the object.",
		XML: fmt.Sprintf(`<task type="Task">%s</task>`, escape(task.Self.Value))}
}

// activeTasks are the queued and running tasks of a VM, by descriptionId.
func (vc *vcenter) activeTasks(vm *simulator.VirtualMachine) []string {
	var recent []types.ManagedObjectReference
	vc.registry().WithLock(vc.context(), vm, func() { recent = append(recent, vm.RecentTask...) })
	out := []string{}
	for _, ref := range recent {
		info, ok := vc.taskInfo(ref)
		if ok && (info.State == types.TaskInfoStateQueued || info.State == types.TaskInfoStateRunning) {
			out = append(out, info.DescriptionId)
		}
	}
	return out
}

type beginTask struct {
	VM string `json:"vm"`
	// Method of the task; CloneVM_Task by default.
	Method string `json:"method"`
}

type endTask struct {
	Fault *fault `json:"fault"`
}

func (vc *vcenter) busyRoutes() map[string]route {
	return map[string]route{
		"POST /tasks": made(func(begin beginTask) (types.ManagedObjectReference, error) {
			ref, err := vc.find("VirtualMachine", begin.VM)
			if err != nil {
				return ref, err
			}
			if begin.Method == "" {
				begin.Method = "CloneVM_Task"
			}
			task := vc.newTask(begin.Method, ref)
			vc.busy.put(task)
			return task.Self, nil
		}),
		"POST /tasks/{id}/end": func(r *http.Request) (any, error) {
			how, err := decode[endTask](r)
			if err != nil {
				return nil, err
			}
			var failed types.BaseMethodFault
			message := ""
			if how.Fault != nil {
				if failed, err = how.Fault.decoded(); err != nil {
					return nil, err
				}
				message = how.Fault.Message
			}
			task := vc.busy.take(r.PathValue("id"))
			if task == nil {
				return nil, errGone
			}
			vc.endTask(task, nil, failed, message)
			return nil, nil
		},
	}
}
