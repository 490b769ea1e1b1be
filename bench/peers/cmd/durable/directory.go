package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"
)

type file struct {
	content []byte
	mode    os.FileMode
}

// fsyncs counts the calls of a job.
var fsyncs int

// syncDirectory makes target hold exactly the files: each is written into staging and synced with its directory, one after the other; then
// the two directories change places, their parents are synced, and what was replaced is removed.
func syncDirectory(target, staging string, files map[string]file) (err error) {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(staging, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	for name, content := range files {
		if filepath.Base(name) != name {
			return fmt.Errorf("%q is no plain name", name)
		}
		if err := writeFile(filepath.Join(staging, name), content); err != nil {
			return err
		}
	}
	if err := exchange(target, staging); err != nil {
		return err
	}
	if err := fsync(filepath.Dir(target)); err != nil {
		return err
	}
	return fsync(filepath.Dir(staging))
}

// writeFile writes in place, closes, syncs the file by its name, and then its directory.
func writeFile(path string, content file) error {
	if err := os.WriteFile(path, content.content, content.mode); err != nil {
		return err
	}
	if err := fsync(path); err != nil {
		return err
	}
	return fsync(filepath.Dir(path))
}

func fsync(path string) error {
	fsyncs++
	open, err := os.Open(path)
	if err != nil {
		return err
	}
	err = open.Sync()
	if closed := open.Close(); err == nil {
		err = closed
	}
	return err
}

// renameat2 has no number in package syscall.
var renameat2 = map[string]uintptr{"amd64": 316, "arm64": 276}[runtime.GOARCH]

func exchange(first, second string) error {
	const atFdcwd, renameExchange = -100, 2
	from, err := syscall.BytePtrFromString(first)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(second)
	if err != nil {
		return err
	}
	here := atFdcwd
	_, _, errno := syscall.Syscall6(renameat2, uintptr(here), uintptr(unsafe.Pointer(from)), uintptr(here),
		uintptr(unsafe.Pointer(to)), renameExchange, 0)
	if errno != 0 {
		return &os.LinkError{Op: "exchange", Old: first, New: second, Err: errno}
	}
	return nil
}
