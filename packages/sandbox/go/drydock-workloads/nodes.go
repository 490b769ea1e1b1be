package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// renewal is how often a node says that it lives: it counts as gone after 50 s.
const renewal = 10 * time.Second

// startNode makes the node with this number ready and keeps it alive.
func startNode(ctx context.Context, client kubernetes.Interface, number int) error {
	name := fmt.Sprintf("node-%d", number)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelHostname:               name,
			corev1.LabelOSStable:               "linux",
			corev1.LabelArchStable:             "amd64",
			"node-role.kubernetes.io/worker":   "",
			"sandbox.drydock.dev/runs-nothing": "true",
		},
	}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	now := metav1.Now()
	conditions := []corev1.NodeCondition{}
	for _, one := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse},
		{corev1.NodeDiskPressure, corev1.ConditionFalse},
		{corev1.NodePIDPressure, corev1.ConditionFalse},
		{corev1.NodeReady, corev1.ConditionTrue},
	} {
		conditions = append(conditions, corev1.NodeCondition{
			Type: one.kind, Status: one.status, Reason: "RunsNothing", LastHeartbeatTime: now, LastTransitionTime: now,
		})
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("500"),
	}
	// Controllers write this status, too: a patch without a resourceVersion meets no conflict.
	patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{
		Capacity:    room,
		Allocatable: room,
		Conditions:  conditions,
		Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: "v1.34.4", OperatingSystem: "linux", Architecture: "amd64"},
	}})
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	go keepAlive(ctx, client, name)
	return nil
}

func keepAlive(ctx context.Context, client kubernetes.Interface, node string) {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	seconds := int32(40)
	for {
		now := metav1.NowMicro()
		spec := coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: &seconds, RenewTime: &now}
		patch, _ := json.Marshal(map[string]any{"spec": spec})
		_, err := leases.Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: spec}, metav1.CreateOptions{})
		}
		wait := renewal
		if err != nil {
			// The namespace of the leases is made a moment after the server has started.
			fmt.Fprintln(os.Stderr, "lease of", node, err)
			wait = time.Second
		}
		time.Sleep(wait)
	}
}
