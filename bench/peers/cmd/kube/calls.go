package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// measureCalls makes count calls, atOnce at a time, after half of them as warm-up.
func measureCalls(count, atOnce int, call func() error) (*result, error) {
	if err := calls(count/2, atOnce, call); err != nil {
		return nil, err
	}
	cpu, started := cpuSeconds(), time.Now()
	if err := calls(count, atOnce, call); err != nil {
		return nil, err
	}
	seconds := time.Since(started).Seconds()
	return &result{PerSecond: float64(count) / seconds, CPUSeconds: cpuSeconds() - cpu}, nil
}

func calls(count, atOnce int, call func() error) error {
	var left atomic.Int64
	left.Store(int64(count))
	failed := make(chan error, atOnce)
	var lanes sync.WaitGroup
	for range atOnce {
		lanes.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	lanes.Wait()
	close(failed)
	return <-failed
}
