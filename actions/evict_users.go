package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
)

// EvictUsers ends the connections of users who have lost a password. A server
// itself ends only those of users who are gone: whoever logged in with a
// password goes on although it was taken away.
//
// Who is to be evicted is noted on the Pod BEFORE the server loads the users,
// since afterwards nobody knows what it accepted before; the note goes when it
// is done.
type EvictUsers struct {
	Nodes []string `expr:"nodes"`
}

// String implements Action.
func (a *EvictUsers) String() string { return list(a.Nodes) }

// Execute implements Action.
func (a *EvictUsers) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Nodes, func(ctx context.Context, node string) error { return evict(ctx, env, node) })
}

// evict ends the connections, once: it does nothing without a note.
func evict(ctx context.Context, env Env, node string) error {
	pod, err := ownPod(ctx, env, node)
	if err != nil || pod == nil {
		return err
	}
	users := noted(pod)
	if len(users) == 0 {
		return nil
	}
	var commands [][]string
	for _, user := range users {
		commands = append(commands, eviction(user))
	}
	replies, err := env.Valkey.Do(ctx, node, commands...)
	if err != nil {
		return fmt.Errorf("evict %s: %s: %w", list(users), node, err)
	}
	for i, reply := range replies {
		// A user who is gone by now has no connections any more.
		if reply.Err != nil && !strings.Contains(reply.Err.Error(), "No such user") {
			return fmt.Errorf("%s: evict %s: %w", node, users[i], reply.Err)
		}
	}
	return note(ctx, env, pod, nil)
}

// eviction spares replication links: a server that breaks them off to change a
// password it has accepted would have every replica sync anew.
func eviction(user string) []string {
	if user == replicationUser {
		return command("CLIENT KILL USER", user, "TYPE", "normal")
	}
	return command("CLIENT KILL USER", user)
}

// foresee notes who will have to be evicted once the server has the wanted users.
func foresee(ctx context.Context, env Env, node string) error {
	texts, err := ask(ctx, env, node, command("ACL LIST"))
	if err != nil {
		return err
	}
	present, err := parseUsers(texts[0])
	if err != nil {
		return fmt.Errorf("%s: ACL LIST: %w", node, err)
	}
	wanted, err := parseUsers(env.Desired.ACLFile)
	if err != nil {
		return fmt.Errorf("users.acl: %w", err)
	}
	users := revoked(present, wanted)
	if len(users) == 0 {
		return nil
	}
	pod, err := ownPod(ctx, env, node)
	if err != nil || pod == nil {
		return err
	}
	return note(ctx, env, pod, append(users, noted(pod)...))
}

// revoked are the users who can log in with something now that they cannot use
// then, and who may do anything then.
func revoked(present, wanted [][]string) []string {
	then := map[string][]string{}
	for _, user := range wanted {
		then[user[0]] = user[1:]
	}
	var out []string
	for _, user := range present {
		name, rules := user[0], then[user[0]]
		if name == revisionUser || !slices.Contains(rules, "on") {
			continue
		}
		for _, rule := range user[1:] {
			if (rule == "nopass" || strings.HasPrefix(rule, "#")) && !slices.Contains(rules, rule) {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// ownPod is the node's Pod as the API server has it; nil when it is gone.
func ownPod(ctx context.Context, env Env, node string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := env.Live.Get(ctx, env.key(node), pod)
	if apierrors.IsNotFound(err) || (err == nil && (objects.NodeOf(pod) != node || !labelled(env, pod))) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read pod %s: %w", node, err)
	}
	return pod, nil
}

// noted are the users to be evicted from the Pod's server.
func noted(pod *corev1.Pod) []string {
	return strings.FieldsFunc(pod.Annotations[engine.EvictAnnotation], func(r rune) bool { return r == ',' })
}

// note writes down who is to be evicted, if that is news.
func note(ctx context.Context, env Env, pod *corev1.Pod, users []string) error {
	slices.Sort(users)
	text := strings.Join(slices.Compact(users), ",")
	if pod.Annotations[engine.EvictAnnotation] == text {
		return nil
	}
	changed := pod.DeepCopy()
	delete(changed.Annotations, engine.EvictAnnotation)
	if text != "" {
		if changed.Annotations == nil {
			changed.Annotations = map[string]string{}
		}
		changed.Annotations[engine.EvictAnnotation] = text
	}
	if err := env.Kube.Patch(ctx, changed, client.MergeFrom(pod)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note on pod %s who is to be evicted: %w", pod.Name, err)
	}
	return nil
}
