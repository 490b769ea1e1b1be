package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

var taskCounter atomic.Int64

// newTask puts a running task of our own on the entity. Unlike the simulator's it holds no lock while it runs.
func (vc *vcenter) newTask(method string, entity types.ManagedObjectReference) *simulator.Task {
	task := &simulator.Task{}
	name := strings.TrimSuffix(method, "_Task")
	task.Self = types.ManagedObjectReference{Type: "Task", Value: fmt.Sprintf("task-rule-%d", taskCounter.Add(1))}
	task.Info = types.TaskInfo{
		Key: task.Self.Value, Task: task.Self, Name: method, Entity: &entity, EntityName: entity.Value,
		DescriptionId: descriptionID(entity.Type, name),
		State:         types.TaskInfoStateRunning, QueueTime: time.Now(), StartTime: types.NewTime(time.Now()),
		Reason: &types.TaskReasonUser{UserName: vc.user},
	}
	put := func() { vc.registry().Put(task) }
	if e, ok := vc.registry().Get(entity).(mo.Entity); ok {
		vc.registry().WithLock(vc.context(), e, put)
	} else {
		put()
	}
	return task
}

// cloneDescription is what vCenter calls a clone; the simulator says VirtualMachine.cloneVm, and consumers wait for this one.
const cloneDescription = "VirtualMachine.clone"

func descriptionID(kind, method string) string {
	if method == "CloneVM" {
		return cloneDescription
	}
	return kind + "." + strings.ToLower(method[:1]) + method[1:]
}

// nameClone corrects the task of the simulator's own clone before its caller hears of it. Written under the lock and not as an update: one on a
// task that has ended can stall under the collectors of others.
func (vc *vcenter) nameClone(out *httptest.ResponseRecorder) {
	value, kind := elementText(out.Body.Bytes(), "returnval")
	task, ok := vc.registry().Get(types.ManagedObjectReference{Type: kind, Value: value}).(*simulator.Task)
	if ok {
		vc.registry().WithLock(vc.context(), task, func() { task.Info.DescriptionId = cloneDescription })
	}
}

// taskInfo copies the task's state under its lock.
func (vc *vcenter) taskInfo(ref types.ManagedObjectReference) (info types.TaskInfo, ok bool) {
	task, ok := vc.registry().Get(ref).(*simulator.Task)
	if ok {
		vc.registry().WithLock(vc.context(), task, func() { info = task.Info })
	}
	return info, ok
}

// waitTask waits for the end of one of the simulator's tasks, which takes milliseconds.
func (vc *vcenter) waitTask(ref types.ManagedObjectReference) (types.TaskInfo, bool) {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		info, ok := vc.taskInfo(ref)
		if !ok || info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError {
			return info, ok
		}
	}
	return types.TaskInfo{}, false
}

// endTask gives the task its outcome, unless it has one: the client may have cancelled it.
func (vc *vcenter) endTask(task *simulator.Task, result types.AnyType, failed types.BaseMethodFault, message string) {
	changes := []types.PropertyChange{{Name: "info.completeTime", Val: time.Now()}}
	if failed != nil {
		changes = append(changes, types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{Fault: failed, LocalizedMessage: message}},
			types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateError})
	} else {
		if result != nil {
			changes = append(changes, types.PropertyChange{Name: "info.result", Val: result})
		}
		changes = append(changes, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
	}
	ctx := vc.context()
	vc.registry().WithLock(ctx, task, func() {
		if task.Info.State == types.TaskInfoStateRunning {
			ctx.Update(task, changes)
		}
	})
}

// asInsider repeats the request in a session that nothing kills.
func (vc *vcenter) asInsider(r *http.Request) *http.Request {
	again := r.Clone(context.Background())
	again.Header.Del("Cookie")
	again.AddCookie(vc.insider)
	return again
}

// answerWithTask answers with a task of our own that is busy for as long as the rule says.
func (vc *vcenter) answerWithTask(w http.ResponseWriter, r *http.Request, c *call, by *rule) {
	if c.session == nil {
		vc.answer(w, r, c, vc.act(r.Context(), r, c))
		return
	}
	if refused := vc.refusal(c); refused != nil {
		c.entry.end(http.StatusInternalServerError)
		writeFault(w, *refused)
		return
	}
	if vc.lacking(c) != "" {
		vc.answer(w, r, c, vc.act(r.Context(), r, c))
		return
	}
	this, kind := elementText(c.body, "_this")
	task := vc.newTask(c.method, types.ManagedObjectReference{Type: kind, Value: this})
	inside := vc.asInsider(r)
	work := by.Work
	if work == "" {
		work = "last"
		if by.Fault != nil {
			work = "never"
		}
	}
	var result types.AnyType
	var failed types.BaseMethodFault
	act := func() { result, failed = vc.outcome(vc.act(context.Background(), inside, c)) }
	if work == "first" {
		act()
	}
	c.entry.end(http.StatusOK)
	writeTask(w, c.method, task.Self)
	go func() {
		if by.Hold {
			vc.rules.hold(context.Background(), by)
		} else {
			pause(context.Background(), time.Duration(by.DelayMs)*time.Millisecond)
		}
		if info, _ := vc.taskInfo(task.Self); info.Cancelled {
			return
		}
		if work == "last" {
			act()
		}
		message := ""
		if by.Fault != nil {
			failed, _ = by.Fault.decoded()
			message = by.Fault.Message
		}
		vc.endTask(task, result, failed, message)
	}()
}

// outcome is how the call behind our task ended: its own task's outcome, or the fault it was answered with.
func (vc *vcenter) outcome(out *httptest.ResponseRecorder) (types.AnyType, types.BaseMethodFault) {
	if info, ok := vc.taskOf(out); ok {
		if info.Error != nil {
			return nil, info.Error.Fault
		}
		return info.Result, nil
	}
	if out.Code == http.StatusOK {
		return nil, nil
	}
	return nil, &types.SystemError{Reason: "the call behind the task was refused: " + out.Body.String()}
}

// taskOf waits for the task that an answer names.
func (vc *vcenter) taskOf(out *httptest.ResponseRecorder) (types.TaskInfo, bool) {
	if out.Code != http.StatusOK {
		return types.TaskInfo{}, false
	}
	value, kind := elementText(out.Body.Bytes(), "returnval")
	if kind != "Task" {
		return types.TaskInfo{}, false
	}
	return vc.waitTask(types.ManagedObjectReference{Type: kind, Value: value})
}
