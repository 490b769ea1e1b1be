package main

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/nfc"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/ovf/importer"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// publish does what the other side's publication does: log in, check the digest of the OVA, import it, compare what was sent
// with both manifests, complete, reconfigure, tag, mark as template, log out.
func publish(j *job) error {
	ctx := context.Background()
	endpoint, err := url.Parse(j.URL)
	if err != nil {
		return err
	}
	transport := soap.NewClient(endpoint, false)
	if err := transport.SetRootCAs(j.CA); err != nil {
		return err
	}
	client, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return err
	}
	user := url.UserPassword(j.User, j.Password)
	sessions := session.NewManager(client)
	if err := sessions.Login(ctx, user); err != nil {
		return err
	}
	defer func() { _ = sessions.Logout(ctx) }()
	checked := make(chan error, 1)
	if j.Beside {
		go func() { checked <- checkOVA(j) }()
	} else {
		if err := checkOVA(j); err != nil {
			return err
		}
		checked <- nil
	}
	imp, err := newImporter(ctx, client, j)
	if err != nil {
		return err
	}
	vm, err := importOVA(ctx, imp, j, checked)
	if err != nil {
		return err
	}
	if err := tag(ctx, client, user, vm, j); err != nil {
		return err
	}
	return vm.MarkAsTemplate(ctx)
}

func checkOVA(j *job) error {
	f, err := os.Open(j.OVA)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{f}, make([]byte, 256<<10)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != j.SHA256 {
		return fmt.Errorf("%s has sha256 %s, but %s was expected", j.OVA, got, j.SHA256)
	}
	return nil
}

func newImporter(ctx context.Context, client *vim25.Client, j *job) (*hashingImporter, error) {
	finder := find.NewFinder(client)
	datacenter, err := finder.Datacenter(ctx, j.Datacenter)
	if err != nil {
		return nil, err
	}
	finder.SetDatacenter(datacenter)
	datastore, err := finder.Datastore(ctx, j.Datastore)
	if err != nil {
		return nil, err
	}
	pool, err := finder.ResourcePool(ctx, j.Cluster+"/Resources")
	if err != nil {
		return nil, err
	}
	folder, err := finder.Folder(ctx, j.Folder)
	if err != nil {
		return nil, err
	}
	hosts, err := finder.HostSystemList(ctx, j.Cluster+"/*")
	if err != nil {
		return nil, err
	}
	archive := &hashingArchive{TapeArchive: importer.TapeArchive{Path: j.OVA}, sent: map[string]digested{}, beside: j.Beside}
	return &hashingImporter{archive: archive, Importer: importer.Importer{
		Log:    func(text string) (int, error) { return len(text), nil },
		Client: client, Finder: finder, Datacenter: datacenter, Datastore: datastore,
		ResourcePool: pool, Host: hosts[0], Folder: folder, Archive: archive,
	}}, nil
}

type hashingImporter struct {
	importer.Importer
	archive *hashingArchive
}

// importOVA is Importer.Import with our checks between the last byte and Complete: of what was sent, and of the OVA where that went on beside.
func importOVA(ctx context.Context, imp *hashingImporter, j *job, checked <-chan error) (*object.VirtualMachine, error) {
	if err := imp.ReadManifest("*.ovf"); err != nil {
		return nil, err
	}
	info, lease, err := imp.ImportVApp(ctx, "*.ovf", importer.Options{
		Name:           &j.Name,
		NetworkMapping: []importer.Network{{Name: "VM Network", Network: j.Network}},
	})
	if err != nil {
		return nil, err
	}
	updater := lease.StartUpdater(ctx, info)
	defer updater.Done()
	for _, item := range info.Items {
		if err := imp.Upload(ctx, lease, item); err != nil {
			_ = lease.Abort(ctx, nil)
			return nil, err
		}
	}
	err = <-checked
	if err == nil {
		err = compare(ctx, imp, info, lease)
	}
	if err != nil {
		_ = lease.Abort(ctx, nil)
		return nil, err
	}
	if err := lease.Complete(ctx); err != nil {
		return nil, err
	}
	vm := object.NewVirtualMachine(imp.Client, info.Entity)
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "bench.verified", Value: j.SHA256}},
	})
	if err != nil {
		return nil, err
	}
	return vm, task.Wait(ctx)
}

// compare holds what was sent against the manifest of the OVA and against what the server stored.
func compare(ctx context.Context, imp *hashingImporter, info *nfc.LeaseInfo, lease *nfc.Lease) error {
	stored, err := lease.GetManifest(ctx)
	if err != nil {
		return err
	}
	for _, item := range info.Items {
		s := imp.archive.sent[item.Path]
		sha1sum, sha256sum := s.digests()
		if want := imp.Manifest[item.Path]; want == nil || !matches(want, sha1sum, sha256sum) {
			return fmt.Errorf("%s: what was sent is not what the manifest says", item.Path)
		}
		found := false
		for _, entry := range stored {
			// Not the size: the API describes it for downloads.
			found = found || entry.Sha1 == sha1sum
		}
		if !found {
			return fmt.Errorf("%s: the server has not stored what was sent", item.Path)
		}
	}
	return nil
}

func matches(want *library.Checksum, sha1sum, sha256sum string) bool {
	if strings.EqualFold(want.Algorithm, "SHA1") {
		return strings.EqualFold(want.Checksum, sha1sum)
	}
	return strings.EqualFold(want.Checksum, sha256sum)
}

func tag(ctx context.Context, client *vim25.Client, user *url.Userinfo, vm *object.VirtualMachine, j *job) error {
	api := rest.NewClient(client)
	if err := api.Login(ctx, user); err != nil {
		return err
	}
	defer func() { _ = api.Logout(ctx) }()
	return tags.NewManager(api).AttachTag(ctx, j.Tag, vm.Reference())
}

// hashingArchive computes the digests of what the importer reads.
type hashingArchive struct {
	importer.TapeArchive
	sent   map[string]digested
	beside bool
}

// digested is a file of the archive that knows what was read of it, once all was.
type digested interface {
	io.ReadCloser
	digests() (sha1sum, sha256sum string)
}

type sent struct {
	io.ReadCloser
	sha1, sha256 hash.Hash
}

func (a *hashingArchive) Open(name string) (io.ReadCloser, int64, error) {
	f, size, err := a.TapeArchive.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if a.beside {
		s := readBeside(f)
		a.sent[name] = s
		return s, size, nil
	}
	s := &sent{ReadCloser: f, sha1: sha1.New(), sha256: sha256.New()}
	a.sent[name] = s
	return s, size, nil
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	_, _ = s.sha1.Write(p[:n])
	_, _ = s.sha256.Write(p[:n])
	return n, err
}

func (s *sent) digests() (string, string) {
	return hex.EncodeToString(s.sha1.Sum(nil)), hex.EncodeToString(s.sha256.Sum(nil))
}
