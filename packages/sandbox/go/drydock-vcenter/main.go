// Command drydock-vcenter is a vCenter for tests: govmomi's simulator behind verified TLS, with a switchboard in front
// that delays, fails, drops, holds and sabotages. See README.md.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

type flags struct {
	listen, switchboard, cert, key, user, password string
	datacenters, clusters, hosts, vms, datastores  int
	autostart, watchStdin                          bool
}

func parseFlags() (flags, error) {
	var f flags
	flag.StringVar(&f.listen, "listen", "127.0.0.1:0", "address of the vCenter (https)")
	flag.StringVar(&f.switchboard, "switchboard", "127.0.0.1:0", "address of the switchboard (http, loopback only)")
	flag.StringVar(&f.cert, "cert", "", "PEM certificate chain; without it a CA and a leaf are made and the CA is printed")
	flag.StringVar(&f.key, "key", "", "PEM private key of --cert")
	flag.StringVar(&f.user, "user", "drydock@vsphere.local", "the one valid user")
	flag.StringVar(&f.password, "password", "drydock", "its password")
	flag.IntVar(&f.datacenters, "datacenters", 1, "datacenters: DC0, DC1, …")
	flag.IntVar(&f.clusters, "clusters", 2, "clusters per datacenter: DC0_C0, …")
	flag.IntVar(&f.hosts, "hosts", 2, "hosts per cluster: DC0_C0_H0, …")
	flag.IntVar(&f.vms, "vms", 0, "VMs per cluster: DC0_C0_RP0_VM0, …")
	flag.IntVar(&f.datastores, "datastores", 1, "datastores per datacenter, mounted on all its hosts: LocalDS_0, …")
	flag.BoolVar(&f.autostart, "autostart", false, "power the model's VMs on")
	flag.BoolVar(&f.watchStdin, "watch-stdin", true, "end when stdin ends, which is how a server learns that its parent died")
	model := flag.String("model", "", `JSON file with any of {"datacenters","clusters","hosts","vms","datastores","autostart"}; wins over the flags`)
	flag.Parse()
	err := readModel(*model, &f)
	return f, err
}

// readModel overrides the counts by those in a file.
func readModel(file string, f *flags) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	var m struct {
		Datacenters, Clusters, Hosts, Vms, Datastores *int
		Autostart                                     *bool
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return fmt.Errorf("--model %s: %w", file, err)
	}
	for _, count := range []struct{ from, to *int }{
		{m.Datacenters, &f.datacenters}, {m.Clusters, &f.clusters}, {m.Hosts, &f.hosts}, {m.Vms, &f.vms}, {m.Datastores, &f.datastores},
	} {
		if count.from != nil {
			*count.to = *count.from
		}
	}
	if m.Autostart != nil {
		f.autostart = *m.Autostart
	}
	return nil
}

// ready is the one line on stdout.
type ready struct {
	URL         string `json:"url"`
	Switchboard string `json:"switchboard"`
	PID         int    `json:"pid"`
	CAPem       string `json:"caPem,omitempty"`
}

func run(f flags) error {
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if f.watchStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop <- syscall.SIGTERM
		}()
	}
	if err := requireLoopback(f.switchboard); err != nil {
		return err
	}
	tlsConfig, caPem, err := serverTLS(f.cert, f.key)
	if err != nil {
		return err
	}
	vc, err := startVCenter(f, tlsConfig)
	if err != nil {
		return err
	}
	defer vc.remove()
	board, err := serveSwitchboard(vc, f.switchboard)
	if err != nil {
		return err
	}
	line, err := json.Marshal(ready{URL: vc.url, Switchboard: board, PID: os.Getpid(), CAPem: caPem})
	if err != nil {
		return err
	}
	if _, err := fmt.Println(string(line)); err != nil {
		return err
	}
	<-stop
	return nil
}

func main() {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	// A panic in net/http's goroutine is logged there; nothing else may reach for the default mux.
	http.DefaultServeMux = http.NewServeMux()
	f, err := parseFlags()
	if err == nil {
		err = run(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "drydock-vcenter:", err)
		os.Exit(1)
	}
}
