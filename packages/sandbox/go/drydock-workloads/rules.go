package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var everything = labels.Everything()

// behaviour is how a pod gets on.
type behaviour string

const (
	// well: it runs and is ready; that of a Job succeeds.
	well behaviour = ""
	// neverReady: it runs, and its readiness probes fail.
	neverReady behaviour = "never-ready"
	// crashLoop: its containers end again and again.
	crashLoop behaviour = "crash-loop"
	// imagePull: its images cannot be had.
	imagePull behaviour = "image-pull"
	// hang: it runs and is ready, that of a Job for ever; when it is deleted it stays.
	hang behaviour = "hang"
	// fail: it ends with code 1.
	fail behaviour = "fail"
	// complete: it ends with code 0.
	complete behaviour = "complete"
)

// Annotations of a pod. What a rule says wins.
const (
	howAnnotation   = "sandbox.drydock.dev/pod"
	afterAnnotation = "sandbox.drydock.dev/after"
)

// rule says how pods get on. Fields that are absent mean all.
type rule struct {
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Image is a part of the image of one of the containers.
	Image string    `json:"image,omitempty"`
	Pod   behaviour `json:"pod"`
	// AfterMs since the pod was created; until then all is well.
	AfterMs int64 `json:"afterMs,omitempty"`
}

// rules are asked in their order; the first that names a pod decides.
type rules struct {
	mutex sync.Mutex
	list  []rule
}

func (r *rules) all() []rule {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]rule{}, r.list...)
}

func (r *rules) set(next []rule) error {
	for _, one := range next {
		if !known(one.Pod) {
			return fmt.Errorf("a pod cannot be %q", one.Pod)
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.list = next
	return nil
}

func known(how behaviour) bool {
	switch how {
	case well, neverReady, crashLoop, imagePull, hang, fail, complete:
		return true
	}
	return false
}

// of says how a pod gets on now, and after which time it may be otherwise; 0 for never.
func (r *rules) of(pod *corev1.Pod, now time.Time) (behaviour, time.Duration) {
	how, after := behaviour(pod.Annotations[howAnnotation]), time.Duration(0)
	if text := pod.Annotations[afterAnnotation]; text != "" {
		after, _ = time.ParseDuration(text)
	}
	if !known(how) {
		how = well
	}
	for _, one := range r.all() {
		if one.names(pod) {
			how, after = one.Pod, time.Duration(one.AfterMs)*time.Millisecond
			break
		}
	}
	if left := pod.CreationTimestamp.Add(after).Sub(now); after > 0 && left > 0 {
		return well, left
	}
	return how, 0
}

func (r rule) names(pod *corev1.Pod) bool {
	if r.Namespace != "" && r.Namespace != pod.Namespace {
		return false
	}
	if !labels.SelectorFromSet(r.Labels).Matches(labels.Set(pod.Labels)) {
		return false
	}
	if r.Image == "" {
		return true
	}
	for _, container := range pod.Spec.Containers {
		if strings.Contains(container.Image, r.Image) {
			return true
		}
	}
	return false
}
