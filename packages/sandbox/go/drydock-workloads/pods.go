package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusOf is what a kubelet says of a pod that gets on so; nil where it is said already.
func (k *kubelet) statusOf(pod *corev1.Pod, how behaviour) *corev1.PodStatus {
	if how == well && ofJob(pod) {
		how = complete
	}
	// What has ended stays as it ended.
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	phase, ready := corev1.PodRunning, how == well || how == hang
	switch how {
	case imagePull:
		phase = corev1.PodPending
	case fail:
		phase = corev1.PodFailed
	case complete:
		phase = corev1.PodSucceeded
	}
	if phase == pod.Status.Phase && ready == isTrue(pod, corev1.PodReady) && waitingFor(pod) == reasonOf(how) {
		return nil
	}
	now := metav1.Now()
	next := &corev1.PodStatus{
		Phase:     phase,
		HostIP:    "127.0.0.1",
		PodIP:     pod.Status.PodIP,
		StartTime: pod.Status.StartTime,
	}
	if next.StartTime == nil {
		next.StartTime = &now
	}
	if next.PodIP == "" {
		k.addresses++
		next.PodIP = fmt.Sprintf("10.244.%d.%d", k.addresses/250%250, k.addresses%250+1)
	}
	next.PodIPs = []corev1.PodIP{{IP: next.PodIP}}
	for _, container := range pod.Spec.Containers {
		next.ContainerStatuses = append(next.ContainerStatuses, containerStatus(pod, container, how, ready, now))
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			next.Conditions = append(next.Conditions, condition)
		}
	}
	next.Conditions = append(next.Conditions,
		condition(pod, corev1.PodInitialized, true, now),
		condition(pod, corev1.ContainersReady, ready, now),
		condition(pod, corev1.PodReady, ready, now),
	)
	return next
}

// reasonOf is why containers of such a pod wait; empty where they do not.
func reasonOf(how behaviour) string {
	switch how {
	case crashLoop:
		return "CrashLoopBackOff"
	case imagePull:
		return "ImagePullBackOff"
	}
	return ""
}

func waitingFor(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Waiting != nil {
			return status.State.Waiting.Reason
		}
	}
	return ""
}

func containerStatus(pod *corev1.Pod, container corev1.Container, how behaviour, ready bool, now metav1.Time) corev1.ContainerStatus {
	status := corev1.ContainerStatus{
		Name:        container.Name,
		Image:       container.Image,
		ImageID:     container.Image,
		ContainerID: fmt.Sprintf("drydock://%s/%s", pod.UID, container.Name),
		Ready:       ready,
		Started:     &ready,
	}
	ended := func(code int32, reason string) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: now, FinishedAt: now}
	}
	switch how {
	case crashLoop:
		status.RestartCount = 1
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonOf(how), Message: "it ends again and again"}
		status.LastTerminationState.Terminated = ended(1, "Error")
	case imagePull:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonOf(how), Message: "the image cannot be had"}
	case fail:
		status.State.Terminated = ended(1, "Error")
	case complete:
		status.State.Terminated = ended(0, "Completed")
	default:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
	}
	return status
}

func ofJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType, holds bool, now metav1.Time) corev1.PodCondition {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	for _, old := range pod.Status.Conditions {
		if old.Type == kind && old.Status == status {
			return old
		}
	}
	return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now}
}

// say writes a status. The uid keeps it from another pod of the same name.
func (k *kubelet) say(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	if status == nil {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
