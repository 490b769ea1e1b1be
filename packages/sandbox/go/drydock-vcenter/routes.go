package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/vmware/govmomi/vim25/types"
)

// routes is the whole control API; README.md has it as a table.
func (vc *vcenter) routes() map[string]route {
	table := map[string]route{}
	for _, part := range []map[string]route{vc.ruleRoutes(), vc.sessionRoutes(), vc.inventoryRoutes(), vc.nameRoutes(), vc.busyRoutes(), vc.setupRoutes()} {
		maps.Copy(table, part)
	}
	return table
}

func (vc *vcenter) ruleRoutes() map[string]route {
	return map[string]route{
		"POST /rules": func(r *http.Request) (any, error) {
			wanted, err := decode[rule](r)
			if err != nil {
				return nil, err
			}
			return vc.rules.add(wanted)
		},
		"GET /rules": func(*http.Request) (any, error) { return vc.rules.list(), nil },
		"DELETE /rules": func(*http.Request) (any, error) {
			vc.rules.remove("")
			return nil, nil
		},
		"GET /rules/{id}": func(r *http.Request) (any, error) {
			return found(vc.rules.get(r.PathValue("id")))
		},
		"DELETE /rules/{id}": func(r *http.Request) (any, error) {
			return found[any](nil, vc.rules.remove(r.PathValue("id")))
		},
		"POST /rules/{id}/release": func(r *http.Request) (any, error) {
			return found[any](nil, vc.rules.free(r.PathValue("id")))
		},
		"GET /rules/{id}/wait": func(r *http.Request) (any, error) {
			ctx, cancel := context.WithTimeout(r.Context(), millis(number(r, "timeoutMs", 10000)))
			defer cancel()
			out, err := vc.rules.await(ctx, r.PathValue("id"), number(r, "taken", 0), number(r, "held", 0))
			if err != nil && ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", err, context.DeadlineExceeded)
			}
			return out, err
		},
		"GET /calls": func(r *http.Request) (any, error) {
			total, methods := vc.calls.report()
			return map[string]any{"total": total, "methods": methods}, nil
		},
		"GET /calls/log": func(r *http.Request) (any, error) { return vc.calls.since(number(r, "since", 0)), nil },
		"DELETE /calls": func(*http.Request) (any, error) {
			vc.calls.reset()
			return nil, nil
		},
		"GET /uploads": func(*http.Request) (any, error) {
			all, bytes := vc.uploads.report()
			return map[string]any{"count": len(all), "bytes": bytes, "uploads": all}, nil
		},
		"DELETE /uploads": func(*http.Request) (any, error) {
			vc.uploads.reset()
			return nil, nil
		},
	}
}

func found[T any](value T, ok bool) (any, error) {
	if !ok {
		return nil, errGone
	}
	return value, nil
}

func (vc *vcenter) sessionRoutes() map[string]route {
	return map[string]route{
		"GET /sessions": func(*http.Request) (any, error) {
			report := vc.sessions.report()
			report.Locked = vc.lockedAccounts()
			return report, nil
		},
		"POST /sessions/kill": func(r *http.Request) (any, error) {
			which, err := decode[struct {
				IDs []string `json:"ids"`
			}](r)
			if err != nil {
				return nil, err
			}
			return map[string]int{"killed": vc.kill(which.IDs...)}, nil
		},
		"PUT /logins": func(r *http.Request) (any, error) {
			policy, err := decode[loginPolicy](r)
			if err != nil {
				return nil, err
			}
			vc.mu.Lock()
			defer vc.mu.Unlock()
			vc.logins = policy
			return policy, nil
		},
		"PUT /privileges": func(r *http.Request) (any, error) {
			wanted, err := decode[struct {
				Denied []string `json:"denied"`
			}](r)
			if err != nil {
				return nil, err
			}
			vc.mu.Lock()
			defer vc.mu.Unlock()
			vc.denied = map[string]bool{}
			for _, name := range wanted.Denied {
				vc.denied[name] = true
			}
			return map[string]any{"denied": sortedKeys(vc.denied)}, nil
		},
		"POST /restart": func(r *http.Request) (any, error) {
			how, err := decode[struct {
				DownMs       int  `json:"downMs"`
				KeepSessions bool `json:"keepSessions"`
			}](r)
			if err != nil {
				return nil, err
			}
			return map[string]int{"killed": vc.restart(millis(how.DownMs), !how.KeepSessions)}, nil
		},
		"GET /options": func(*http.Request) (any, error) { return vc.chosen(), nil },
		"PATCH /options": func(r *http.Request) (any, error) {
			vc.mu.Lock()
			defer vc.mu.Unlock()
			return patchOptions(r, &vc.options)
		},
	}
}

func (vc *vcenter) inventoryRoutes() map[string]route {
	return map[string]route{
		"GET /vms": func(r *http.Request) (any, error) {
			folder := r.URL.Query().Get("folder")
			return vc.vms(func(v vmView) bool { return folder == "" || folder == v.Folder || folder == v.FolderMoref }), nil
		},
		"GET /templates": func(*http.Request) (any, error) {
			return vc.vms(func(v vmView) bool { return v.IsTemplate }), nil
		},
		"GET /objects/{type}": func(r *http.Request) (any, error) { return vc.objects(r.PathValue("type")), nil },
		"GET /tags":           func(*http.Request) (any, error) { return vc.tags() },
		"GET /find": func(r *http.Request) (any, error) {
			ref, err := vc.find("VirtualMachine", r.URL.Query().Get("path"))
			return named(ref), err
		},
	}
}

// named is the answer of everything that makes or finds an object.
func named(ref types.ManagedObjectReference) any {
	return map[string]string{"type": ref.Type, "moref": ref.Value}
}
