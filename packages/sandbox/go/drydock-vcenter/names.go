package main

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// nameChange is a VM that got another name, or vanished, as the server saw it.
type nameChange struct {
	Seq int `json:"seq"`
	// Kind: rename, or destroy (To is then empty).
	Kind   string `json:"kind"`
	Moref  string `json:"moref"`
	Folder string `json:"folder"`
	From   string `json:"from"`
	To     string `json:"to,omitempty"`
	// StartedAt and At: when the task began, and when it was complete.
	StartedAt time.Time `json:"startedAt"`
	At        time.Time `json:"at"`
	// Session is empty for what the switchboard itself did.
	Session string `json:"session,omitempty"`
	// Fault of a task that failed; the name is then unchanged.
	Fault string `json:"fault,omitempty"`
}

// nameGap is a time in which nothing had the name: from the rename away or the destruction to the rename that brought it back.
type nameGap struct {
	Name   string    `json:"name"`
	Folder string    `json:"folder"`
	From   time.Time `json:"from"`
	// To is absent while the name is still free.
	To *time.Time `json:"to,omitempty"`
	// Micros is the length of an ended gap.
	Micros int64 `json:"micros"`
}

type nameTable struct {
	mu  sync.Mutex
	seq int
	all []nameChange
}

// nameLogSize bounds the log: a soak renames for hours.
const nameLogSize = 20000

func (t *nameTable) add(change nameChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	change.Seq = t.seq
	if len(t.all) == nameLogSize {
		t.all = append(t.all[:0], t.all[nameLogSize/2:]...)
	}
	t.all = append(t.all, change)
}

func (t *nameTable) since(seq int) []nameChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []nameChange{}
	for _, change := range t.all {
		if change.Seq > seq {
			out = append(out, change)
		}
	}
	return out
}

func (t *nameTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = nil
}

// gaps pairs what took a name away with what brought it back; empty arguments mean every folder and name.
func (t *nameTable) gaps(folder, name string) []nameGap {
	type place struct{ folder, name string }
	out := []nameGap{}
	open := map[place]int{}
	for _, change := range t.since(0) {
		if change.Fault != "" {
			continue
		}
		if at, ok := open[place{change.Folder, change.To}]; ok && change.To != "" {
			end := change.At
			out[at].To, out[at].Micros = &end, end.Sub(out[at].From).Microseconds()
			delete(open, place{change.Folder, change.To})
		}
		left := place{change.Folder, change.From}
		if (folder == "" || folder == left.folder) && (name == "" || name == left.name) {
			open[left] = len(out)
			out = append(out, nameGap{Name: left.name, Folder: left.folder, From: change.At})
		}
	}
	return out
}

// subject is a VM as it was before a call that changes its name or destroys it.
type subject struct {
	moref, name, folder string
}

// subjectOf looks at the VM of a Rename_Task or Destroy_Task; nil for every other call.
func (vc *vcenter) subjectOf(c *call) *subject {
	if c.session == nil || c.method != "Rename_Task" && c.method != "Destroy_Task" {
		return nil
	}
	return vc.subject(c.this())
}

func (vc *vcenter) subject(ref types.ManagedObjectReference) *subject {
	vm := vc.vm(ref)
	if vm == nil {
		return nil
	}
	out := &subject{moref: ref.Value}
	vc.registry().WithLock(vc.context(), vm, func() {
		out.name = vm.Name
		if parent := vc.parent(vm); parent != nil {
			out.folder = vc.path(parent)
		}
	})
	return out
}

// logName records how the task on the subject ended. A rename to the name that it has is none.
func (vc *vcenter) logName(was *subject, to, session string, info types.TaskInfo) {
	if was == nil || to == was.name {
		return
	}
	change := nameChange{Kind: "rename", Moref: was.moref, Folder: was.folder, From: was.name, To: to, Session: session}
	if to == "" {
		change.Kind = "destroy"
	}
	if info.StartTime != nil {
		change.StartedAt = info.StartTime.UTC()
	}
	change.At = time.Now().UTC()
	if info.CompleteTime != nil {
		change.At = info.CompleteTime.UTC()
	}
	if info.Error != nil {
		change.Fault = faultName(info.Error.Fault)
	}
	vc.names.add(change)
}

// faultName is the name of a fault's type, as vSphere calls it.
func faultName(fault types.BaseMethodFault) string {
	return reflect.Indirect(reflect.ValueOf(fault)).Type().Name()
}

func (vc *vcenter) nameRoutes() map[string]route {
	return map[string]route{
		"GET /names": func(r *http.Request) (any, error) { return vc.names.since(number(r, "since", 0)), nil },
		"GET /names/gaps": func(r *http.Request) (any, error) {
			folder := r.URL.Query().Get("folder")
			if folder != "" {
				ref, err := vc.find("Folder", folder)
				if err != nil {
					return nil, err
				}
				entity, ok := vc.registry().Get(ref).(mo.Entity)
				if !ok {
					return nil, fmt.Errorf("%s is no folder", folder)
				}
				folder = vc.path(entity)
			}
			return vc.names.gaps(folder, r.URL.Query().Get("name")), nil
		},
		"DELETE /names": func(*http.Request) (any, error) {
			vc.names.reset()
			return nil, nil
		},
	}
}
