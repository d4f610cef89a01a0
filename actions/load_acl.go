package actions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
)

// revisionUser is a user nobody can log in as: users.acl gives it the hash of
// the file as a password, so that a server can be asked which file it loaded.
const revisionUser = "_momento_revision"

// LoadACL brings servers to the desired users.
//
// A kubelet refreshes a Pod's files about once a minute, and at once when the
// Pod is changed; so the Pod is touched, once for each revision. Whether the
// server has the users is asked of the server, and how it lists them noted on
// the Pod, so that an edit by hand is found. One that does not have them yet is
// left for the next pass.
type LoadACL struct {
	Nodes []string `expr:"nodes"`
}

// String implements Action.
func (a *LoadACL) String() string { return list(a.Nodes) }

// Execute implements Action. It does nothing while the ConfigMap still holds
// another file: to touch a Pod then would bring it the old one.
func (a *LoadACL) Execute(ctx context.Context, env Env) error {
	var file corev1.ConfigMap
	err := env.Live.Get(ctx, env.key(objects.ACLName(env.Cluster.Name)), &file)
	if apierrors.IsNotFound(err) || (err == nil && file.Data[objects.ACLKey] != env.Desired.ACLFile) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read users.acl: %w", err)
	}
	return each(ctx, a.Nodes, func(ctx context.Context, node string) error {
		return loadACL(ctx, env, node)
	})
}

// loadACL loads the file that is there, whichever it is: that undoes what was
// edited by hand. If it turns out to be an older one, or one the server refuses,
// the Pod is touched to get a newer.
func loadACL(ctx context.Context, env Env, node string) error {
	crashes, err := crashesOnLoad(ctx, env, node)
	if err != nil {
		return err
	}
	if err := foresee(ctx, env, node); err != nil {
		return err
	}
	if crashes {
		if err := setUsers(ctx, env, node); err != nil {
			return err
		}
		texts, err := ask(ctx, env, node, command("ACL LIST"))
		if err != nil {
			return err
		}
		return loaded(ctx, env, node, texts[0])
	}
	texts, err := ask(ctx, env, node, command("ACL LOAD"), command("ACL GETUSER", revisionUser), command("ACL LIST"))
	if err == nil && strings.Contains(texts[1], env.Desired.ACLRevision) {
		return loaded(ctx, env, node, texts[2])
	}
	touched := annotate(ctx, env, node, map[string]string{objects.RevisionAnnotation: env.Desired.ACLRevision})
	return errors.Join(err, touched)
}

// loaded notes what the server lists after it has loaded the users, and evicts who lost a password by it.
func loaded(ctx context.Context, env Env, node, list string) error {
	noted := annotate(ctx, env, node, map[string]string{engine.UsersAnnotation: replies.Users(list)})
	return errors.Join(noted, evict(ctx, env, node))
}
