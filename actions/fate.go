package actions

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions/objects"
)

// A fate is what the API server knows of the end of a server.
type fate int

const (
	// notEnded: nothing says that it has ended.
	notEnded fate = iota
	// struckOff: its Pod is gone or is called ended. Who deletes a Pod by force, or a Kubernetes node, says so of a
	// server that may still run.
	struckOff
	// witnessed: its kubelet has seen the container end. What looks like a link to it is an attempt to open one: CLUSTER
	// NODES calls both connected (clusterGenNodeDescription in valkey/src/cluster_legacy.c).
	witnessed
)

// fateOf is the fate of the named node's server. A node that is gone took its Pod along.
func fateOf(ctx context.Context, env Env, name string) (fate, error) {
	if name == "" {
		return struckOff, nil
	}
	node, err := liveNode(ctx, env, name)
	if err != nil {
		return notEnded, err
	}
	if node == nil {
		return struckOff, nil
	}
	pod, err := podOf(ctx, env, node)
	switch {
	case err != nil:
		return notEnded, err
	case pod != nil && containerEnded(pod):
		return witnessed, nil
	case pod == nil || hasEnded(pod):
		return struckOff, nil
	default:
		return notEnded, nil
	}
}

// containerEnded says that the kubelet has seen the server's container end. It is not started again (restartPolicy Never).
func containerEnded(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == objects.ContainerName {
			return c.State.Terminated != nil
		}
	}
	return false
}

// memberFate is the fate of a member. One that no node is known to bear is gone with its node, unless a node that nobody
// knows by its server may be the one.
func memberFate(ctx context.Context, env Env, heard voices, id string) (fate, error) {
	if heard.of(id) != nil {
		return notEnded, nil
	}
	anonymous := false
	for _, n := range env.Snapshot.Nodes {
		if n.LastID == id || n.Server != nil && n.Server.ID == id {
			return fateOf(ctx, env, n.Name)
		}
		runs := n.Pod != nil && !n.Pod.Ended()
		anonymous = anonymous || runs && !heard.haveNode(n.Name) && n.LastID == "" && n.Server == nil
	}
	if anonymous {
		return notEnded, nil
	}
	return struckOff, nil
}

// A toll is the fate of each voter, by its id.
type toll map[string]fate

// tollOf asks for the fate of all voters that the server knows, but for those that answer and hold no slots: they do not
// vote (clusterSendFailoverAuthIfNeeded in valkey/src/cluster_legacy.c). Where they gave theirs to one that died before
// it could tell anybody, others count them as voters for ever.
func tollOf(ctx context.Context, env Env, heard voices, v view) (toll, error) {
	fates := toll{}
	for _, voter := range v.voters() {
		if own := heard.of(voter.ID); own != nil && len(own.self().Slots) == 0 {
			continue
		}
		f, err := memberFate(ctx, env, heard, voter.ID)
		if err != nil {
			return nil, err
		}
		fates[voter.ID] = f
	}
	return fates, nil
}

// ended counts the voters that have.
func (t toll) ended() int {
	count := 0
	for _, f := range t {
		if f != notEnded {
			count++
		}
	}
	return count
}
