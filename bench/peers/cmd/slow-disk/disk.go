package main

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"syscall"
	"time"
)

// Numbers of linux/fuse.h.
const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatfs      = 17
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opOpendir     = 27
	opReleasedir  = 29
	opInterrupt   = 36
	opBatchForget = 42

	rootNode  = 1
	fileNode  = 2
	inHeader  = 40
	outHeader = 16
	maxWrite  = 128 << 10
	// Asynchronous reads, and writes larger than a page.
	initFlags = 1<<0 | 1<<5
)

var le = binary.LittleEndian

// disk answers the requests of the kernel. Nothing is locked: the kernel does not write and read the same bytes at once.
type disk struct {
	device int
	data   []byte
	flush  time.Duration
}

// serve answers one request at a time, until the file system is unmounted.
func (d *disk) serve() {
	// The pause must not wait for a scheduler.
	runtime.LockOSThread()
	request := make([]byte, maxWrite+4096)
	for {
		n, err := syscall.Read(d.device, request)
		if err == syscall.EINTR || err == syscall.EAGAIN || err == syscall.ENOENT {
			continue
		}
		if err != nil || n < inHeader {
			return
		}
		opcode, unique, node := le.Uint32(request[4:]), le.Uint64(request[8:]), le.Uint64(request[16:])
		if opcode == opForget || opcode == opBatchForget || opcode == opInterrupt {
			continue
		}
		body, errno := d.answer(opcode, node, request[inHeader:n])
		reply := make([]byte, outHeader, outHeader+len(body))
		le.PutUint32(reply, uint32(outHeader+len(body)))
		le.PutUint32(reply[4:], uint32(-int32(errno)))
		le.PutUint64(reply[8:], unique)
		if _, err := syscall.Write(d.device, append(reply, body...)); err == syscall.ENODEV {
			return
		}
	}
}

func (d *disk) answer(opcode uint32, node uint64, in []byte) ([]byte, syscall.Errno) {
	switch opcode {
	case opInit:
		// Version 7.31, no read-ahead of its own, and the largest write.
		out := make([]byte, 64)
		le.PutUint32(out, 7)
		le.PutUint32(out[4:], 31)
		le.PutUint32(out[8:], le.Uint32(in[8:]))
		le.PutUint32(out[12:], initFlags)
		le.PutUint32(out[20:], maxWrite)
		le.PutUint32(out[24:], 1)
		return out, 0
	case opLookup:
		if node != rootNode || !bytes.Equal(bytes.TrimRight(in, "\x00"), []byte("disk")) {
			return nil, syscall.ENOENT
		}
		out := make([]byte, 40)
		le.PutUint64(out, fileNode)
		le.PutUint64(out[16:], 1<<30)
		le.PutUint64(out[24:], 1<<30)
		return append(out, d.attributes(fileNode)...), 0
	case opGetattr, opSetattr:
		out := make([]byte, 16)
		le.PutUint64(out, 1<<30)
		return append(out, d.attributes(node)...), 0
	case opOpen, opOpendir:
		return make([]byte, 16), 0
	case opRead:
		from := min(int(le.Uint64(in[8:])), len(d.data))
		return d.data[from:min(from+int(le.Uint32(in[16:])), len(d.data))], 0
	case opWrite:
		from, size := int(le.Uint64(in[8:])), int(le.Uint32(in[16:]))
		if from+size > len(d.data) {
			return nil, syscall.ENOSPC
		}
		out := make([]byte, 8)
		le.PutUint32(out, uint32(copy(d.data[from:], in[40:40+size])))
		return out, 0
	case opFsync:
		pause(d.flush)
		return nil, 0
	case opStatfs:
		return make([]byte, 80), 0
	case opRelease, opFlush, opReleasedir:
		return nil, 0
	default:
		return nil, syscall.ENOSYS
	}
}

func (d *disk) attributes(node uint64) []byte {
	size, mode := uint64(0), uint32(syscall.S_IFDIR|0o700)
	if node == fileNode {
		size, mode = uint64(len(d.data)), syscall.S_IFREG|0o600
	}
	out := make([]byte, 88)
	le.PutUint64(out, node)
	le.PutUint64(out[8:], size)
	le.PutUint64(out[16:], size/512)
	le.PutUint32(out[60:], mode)
	le.PutUint32(out[64:], 1)
	le.PutUint32(out[80:], 4096)
	return out
}

// pause sleeps in the kernel: Go's own timers are as coarse as what is measured.
func pause(d time.Duration) {
	left := syscall.NsecToTimespec(d.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}
