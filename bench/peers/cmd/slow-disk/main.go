// Command slow-disk is the emulated disk of bench/durable: a FUSE file system with one file, `disk`, which is kept in memory and takes a fixed
// time for each fsync. A loop device on that file passes each flush on as an fsync. It says `ready` on stdout, serves until stdin ends, and
// unmounts. Needs root.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

func main() {
	flush := flag.Duration("flush", 2*time.Millisecond, "time that a flush takes")
	size := flag.Int("size", 512<<20, "bytes of the disk")
	flag.Parse()
	if err := run(flag.Arg(0), *size, *flush); err != nil {
		fmt.Fprintln(os.Stderr, "slow-disk:", err)
		os.Exit(1)
	}
}

func run(dir string, size int, flush time.Duration) error {
	device, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device)
	if err := syscall.Mount("slow-disk", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		return fmt.Errorf("mounting %s: %w", dir, err)
	}
	// The kernel serves pages of the file that nobody wrote from memory that nobody has.
	served := &disk{device: device, data: make([]byte, size), flush: flush}
	for range 4 {
		go served.serve()
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return syscall.Unmount(dir, syscall.MNT_DETACH)
}
