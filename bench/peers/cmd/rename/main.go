// Command rename is the peer of bench/templates: the two renames that replace a template, with govmomi and nothing around them. It reads one
// job per JSON line on stdin and answers each with a line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// job asks for a number of replacements under one name. Each takes the name from one template and gives it to the other.
type job struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	CA       string `json:"ca"`
	// Current bears the name, Spare will; both are inventory paths.
	Current string `json:"current"`
	Spare   string `json:"spare"`
	Name    string `json:"name"`
	// Kept are the two names under which a replaced template is kept, in turn; the first is the spare's own.
	Kept   [2]string `json:"kept"`
	Rounds int       `json:"rounds"`
}

// result has the windows as the client saw them: from the end of the first rename to the end of the second.
type result struct {
	WindowMS []float64 `json:"windowMs"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		answer, err := replace(lines.Bytes())
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
			continue
		}
		_ = out.Encode(answer)
	}
}

func replace(line []byte) (*result, error) {
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	ctx := context.Background()
	endpoint, err := url.Parse(j.URL)
	if err != nil {
		return nil, err
	}
	transport := soap.NewClient(endpoint, false)
	if err := transport.SetRootCAs(j.CA); err != nil {
		return nil, err
	}
	client, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return nil, err
	}
	sessions := session.NewManager(client)
	if err := sessions.Login(ctx, url.UserPassword(j.User, j.Password)); err != nil {
		return nil, err
	}
	defer func() { _ = sessions.Logout(ctx) }()
	finder := find.NewFinder(client)
	current, err := finder.VirtualMachine(ctx, j.Current)
	if err != nil {
		return nil, err
	}
	spare, err := finder.VirtualMachine(ctx, j.Spare)
	if err != nil {
		return nil, err
	}
	done := &result{}
	for round := range j.Rounds {
		if err := rename(ctx, current, j.Kept[(round+1)%2]); err != nil {
			return nil, err
		}
		absent := time.Now()
		if err := rename(ctx, spare, j.Name); err != nil {
			return nil, err
		}
		done.WindowMS = append(done.WindowMS, float64(time.Since(absent).Microseconds())/1000)
		current, spare = spare, current
	}
	return done, nil
}

func rename(ctx context.Context, vm *object.VirtualMachine, name string) error {
	task, err := vm.Rename(ctx, name)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}
