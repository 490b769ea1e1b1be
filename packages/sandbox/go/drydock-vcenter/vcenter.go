package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	_ "github.com/vmware/govmomi/vapi/simulator" // tags by REST
)

// vcenter is the simulator, what stands in front of it, and an in-process client that no rule touches.
type vcenter struct {
	url      string
	user     string
	password string

	model  *simulator.Model
	server *simulator.Server
	// inner is the simulator's own handler, without rules.
	inner http.Handler
	// client calls the simulator in process, as a session of its own that nothing can kill.
	client *vim25.Client
	// insider is the cookie of an HTTP session for replaying a caller's request after his own session may have ended.
	insider *http.Cookie
	// key is a second password, for the insider alone: refusing logins does not concern him.
	key string

	rules    *ruleTable
	sessions *sessionTable
	calls    *callTable
	uploads  *uploadTable
	waits    *waitTable
	leases   *leaseTable
	names    *nameTable
	busy     *busyTable
	hidden   *hiddenTable

	mu      sync.Mutex
	options options
	logins  loginPolicy
	// By user name in lower case; for the lockout.
	accounts map[string]*account
	denied   map[string]bool
	outage   outage
}

func startVCenter(f flags, tlsConfig *tls.Config) (*vcenter, error) {
	esx.HardwareVersion = hardwareVersion
	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.ClusterHost = f.datacenters, f.clusters, f.hosts
	model.Host, model.Machine, model.Datastore, model.Autostart = 0, f.vms, f.datastores, f.autostart
	if err := model.Create(); err != nil {
		model.Remove()
		return nil, err
	}
	vc := &vcenter{
		user: f.user, password: f.password, key: rand.Text(), model: model,
		rules: newRuleTable(), sessions: newSessionTable(), calls: newCallTable(), uploads: newUploadTable(),
		waits: newWaitTable(), leases: newLeaseTable(), names: &nameTable{}, busy: newBusyTable(), hidden: newHiddenTable(), denied: map[string]bool{}, accounts: map[string]*account{}, options: defaultOptions(),
	}
	service := model.Service
	service.TLS = tlsConfig
	service.RegisterEndpoints = true
	listen, err := lowPort(f.listen)
	if err != nil {
		model.Remove()
		return nil, err
	}
	service.Listen = &url.URL{Host: listen, User: url.UserPassword(f.user, f.password)}
	model.Map().SessionManager().ValidLogin = vc.validLogin
	vc.server = service.NewServer()
	vc.inner = vc.server.Config.Handler
	// Nobody knows the address yet, so no request can see the handler being replaced.
	vc.server.Config.Handler = http.HandlerFunc(vc.serve)
	vc.url = "https://" + vc.server.URL.Host + vc.server.URL.Path

	client, err := vim25.NewClient(context.Background(), service)
	if err != nil {
		return nil, err
	}
	vc.client = client
	return vc, vc.openInsider()
}

// remove deletes the datastore directories; open connections die with the process.
func (vc *vcenter) remove() {
	vc.server.CloseClientConnections()
	vc.model.Remove()
}

// context is a fresh one per use: the simulator takes it as the owner of the locks it acquires.
func (vc *vcenter) context() *simulator.Context {
	clone := *vc.model.Service.Context
	clone.Context = context.Background()
	return &clone
}

func (vc *vcenter) registry() *simulator.Registry { return vc.model.Map() }

// update changes properties and tells every collector.
func (vc *vcenter) update(vm *simulator.VirtualMachine, changes ...types.PropertyChange) {
	vc.registry().AtomicUpdate(vc.context(), vm, changes)
}

// vm finds a VM by its moref, or nil.
func (vc *vcenter) vm(ref types.ManagedObjectReference) *simulator.VirtualMachine {
	vm, _ := vc.registry().Get(ref).(*simulator.VirtualMachine)
	return vm
}

func isREST(path string) bool {
	return strings.HasPrefix(path, "/rest") || strings.HasPrefix(path, "/api")
}
