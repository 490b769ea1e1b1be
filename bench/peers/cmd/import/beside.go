package main

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"
	"sync/atomic"
)

const (
	chunkBytes = 256 << 10
	chunks     = 4
	// The sender and two digests.
	users = 3
)

// beside reads ahead, and hashes each chunk in goroutines of its own while it is sent.
type beside struct {
	file    io.Closer
	free    chan *chunk
	toSend  chan *chunk
	hashes  [2]hash.Hash
	hashing sync.WaitGroup
	over    chan struct{}
	closing sync.Once
	current *chunk
	rest    []byte
	err     error
}

// chunk goes back to the reader when its last user is done with it.
type chunk struct {
	bytes [chunkBytes]byte
	full  int
	left  atomic.Int32
}

func readBeside(file io.ReadCloser) *beside {
	b := &beside{
		file: file, free: make(chan *chunk, chunks), toSend: make(chan *chunk, chunks),
		hashes: [2]hash.Hash{sha1.New(), sha256.New()}, over: make(chan struct{}),
	}
	for range chunks {
		b.free <- new(chunk)
	}
	toHash := [2]chan *chunk{}
	for index, sum := range b.hashes {
		from := make(chan *chunk, chunks)
		toHash[index] = from
		b.hashing.Go(func() {
			for c := range from {
				_, _ = sum.Write(c.bytes[:c.full])
				b.release(c)
			}
		})
	}
	b.hashing.Go(func() { b.read(file, toHash) })
	return b
}

// read fills chunks until the file ends; no channel that it writes to is ever full, as each holds all chunks.
func (b *beside) read(file io.Reader, toHash [2]chan *chunk) {
	defer close(b.toSend)
	defer close(toHash[0])
	defer close(toHash[1])
	for {
		var c *chunk
		select {
		case c = <-b.free:
		case <-b.over:
			return
		}
		full, err := io.ReadFull(file, c.bytes[:])
		if full > 0 {
			c.full = full
			c.left.Store(users)
			toHash[0] <- c
			toHash[1] <- c
			b.toSend <- c
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return
		}
		if err != nil {
			b.err = err
			return
		}
	}
}

func (b *beside) release(c *chunk) {
	if c.left.Add(-1) == 0 {
		b.free <- c
	}
}

func (b *beside) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if b.current != nil {
			b.release(b.current)
			b.current = nil
		}
		next, more := <-b.toSend
		if !more {
			if b.err != nil {
				return 0, b.err
			}
			return 0, io.EOF
		}
		b.current, b.rest = next, next.bytes[:next.full]
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close waits for the reader, which then reads no closed file.
func (b *beside) Close() error {
	b.closing.Do(func() { close(b.over) })
	b.hashing.Wait()
	return b.file.Close()
}

func (b *beside) digests() (string, string) {
	b.hashing.Wait()
	return hex.EncodeToString(b.hashes[0].Sum(nil)), hex.EncodeToString(b.hashes[1].Sum(nil))
}
