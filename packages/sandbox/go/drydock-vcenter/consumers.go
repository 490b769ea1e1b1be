package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"regexp"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/types"
)

// What programs that use a vCenter beside Drydock need of it.

// hardwareVersion is that of machines for which nothing else is said: consumers refuse what is older than vmx-15.
const hardwareVersion = "vmx-19"

// OpenShift's Infrastructure takes no port above this one, and the system gives out only ports above it.
const highestPort = 32767

// lowPort replaces port 0 of an address by a free one that every consumer can name.
func lowPort(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "0" {
		return address, err
	}
	const lowest = 10240
	for range 100 {
		candidate := net.JoinHostPort(host, fmt.Sprint(lowest+rand.IntN(highestPort-lowest+1)))
		if listener, err := net.Listen("tcp", candidate); err == nil {
			return candidate, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port below %d on %s", highestPort+1, host)
}

var guests atomic.Uint32

// tellGuest sets or clears what VMware Tools report of a machine: it runs, its name, and an address for each network card.
func (vc *vcenter) tellGuest(ref types.ManagedObjectReference, on bool) {
	vm := vc.vm(ref)
	if vm == nil || !vc.chosen().GuestData {
		return
	}
	running, status, state, host, address := types.VirtualMachineToolsRunningStatusGuestToolsNotRunning, types.VirtualMachineToolsStatusToolsNotRunning, "notRunning", "", ""
	var cards []types.GuestNicInfo
	if on {
		number := guests.Add(1)
		running, status, state, host = types.VirtualMachineToolsRunningStatusGuestToolsRunning, types.VirtualMachineToolsStatusToolsOk, "running", vm.Name
		vc.registry().WithLock(vc.context(), vm, func() {
			for _, device := range vm.Config.Hardware.Device {
				card, ok := device.(types.BaseVirtualEthernetCard)
				if !ok {
					continue
				}
				nic := card.GetVirtualEthernetCard()
				own := fmt.Sprintf("10.%d.%d.%d", len(cards), number>>8&255, number&255)
				cards = append(cards, types.GuestNicInfo{Network: "VM Network", Connected: true, DeviceConfigId: nic.Key, MacAddress: nic.MacAddress, IpAddress: []string{own}})
			}
		})
		if len(cards) > 0 {
			address = cards[0].IpAddress[0]
		}
	}
	vc.update(vm, types.PropertyChange{Name: "guest.net", Val: cards},
		types.PropertyChange{Name: "guest.ipAddress", Val: address}, types.PropertyChange{Name: "summary.guest.ipAddress", Val: address},
		types.PropertyChange{Name: "guest.hostName", Val: host}, types.PropertyChange{Name: "summary.guest.hostName", Val: host},
		types.PropertyChange{Name: "guest.guestState", Val: state}, types.PropertyChange{Name: "guest.toolsStatus", Val: status},
		types.PropertyChange{Name: "guest.toolsRunningStatus", Val: string(running)},
		types.PropertyChange{Name: "summary.guest.toolsRunningStatus", Val: string(running)})
}

// What the manifest of an import's lease may say; the API describes it for downloads.
const (
	manifestOfUploads   = "uploads"   // the sizes that were uploaded, as the simulator says
	manifestOfDownloads = "downloads" // the sizes that a download would have
	manifestEmpty       = "empty"     // nothing
)

var (
	manifestEntry = regexp.MustCompile(`(?s)<returnval>.*?</returnval>`)
	manifestSize  = regexp.MustCompile(`<size>(\d+)</size>`)
)

func changeManifest(kind string, out *httptest.ResponseRecorder) {
	switch kind {
	case manifestOfDownloads:
		out.Body = bytes.NewBuffer(manifestSize.ReplaceAll(out.Body.Bytes(), []byte("<size>1${1}</size>")))
	case manifestEmpty:
		out.Body = bytes.NewBuffer(manifestEntry.ReplaceAll(out.Body.Bytes(), nil))
	}
}
