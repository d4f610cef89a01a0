package actions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// refusedFor is how long after a certificate was copied a server that does not
// take it is still waited for. A kubelet that nobody asks brings it within a
// minute and a half; after that it is the certificate that the server refuses.
const refusedFor = 2 * time.Minute

// A Shower asks servers for their certificates.
type Shower interface {
	// Leaf is the certificate, as DER, that the named node's server shows to one
	// who connects now.
	Leaf(ctx context.Context, node string) ([]byte, error)
}

// LoadCertificate lets running servers load the certificate that the
// operator's copy holds, and records on each node that its server was seen to
// serve it.
//
// A kubelet refreshes a Pod's files about once a minute, and at once when the
// Pod is changed; so the Pod of a server that has yet to see the new files is
// touched. Connections that stand are not dropped by any of this.
type LoadCertificate struct {
	Nodes []string `expr:"nodes"`
	// Revision is the one that the servers should serve.
	Revision string `expr:"revision"`
}

// String implements Action.
func (a *LoadCertificate) String() string { return list(a.Nodes) }

// Execute implements Action. It does nothing when the copy holds another
// revision by now.
func (a *LoadCertificate) Execute(ctx context.Context, env Env) error {
	copied, err := liveSecret(ctx, env, objects.TLSName(env.Cluster.Name))
	if err != nil || copied == nil || objects.CopiedRevision(copied.Data) != a.Revision {
		return err
	}
	return each(ctx, a.Nodes, func(ctx context.Context, name string) error {
		node, err := liveNode(ctx, env, name)
		if err != nil || node == nil || node.Status.Certificate == a.Revision {
			return err
		}
		return loadCertificate(ctx, env, node, copied)
	})
}

// loadCertificate lets one server load its files, and asks for newer ones if they are
// not the copy's.
func loadCertificate(ctx context.Context, env Env, node *v1alpha1.ValkeyNode, copied *corev1.Secret) error {
	revision := objects.CopiedRevision(copied.Data)
	refusal, err := loadFiles(ctx, env, node, revision)
	if err != nil {
		return err
	}
	if refusal != nil {
		return touch(ctx, env, node.Name, copied, refusal)
	}
	leaf, err := env.Shower.Leaf(ctx, node.Name)
	if err != nil {
		return fmt.Errorf("%s: look at its certificate: %w", node.Name, err)
	}
	if !bytes.Equal(leaf, objects.Leaf(copied.Data)) {
		return touch(ctx, env, node.Name, copied, errShowsAnother)
	}
	return prove(ctx, env, node, revision)
}

// errShowsAnother is short-lived when the Secret has just changed once more.
var errShowsAnother = errors.New("it has loaded the certificate and shows another")

// loadFiles tells the server to read certificate, key and authorities, once with the
// authorities from the file that is there in this revision only, then from the
// usual ones. If it has done both, it has this revision or a later one: a
// kubelet exchanges all files of a volume at once, and what it read last it
// read after the first file was seen.
//
// The refusal is the server's error reply: the file is not there yet, or key
// and certificate are from before and after an exchange. It then keeps what it
// had.
func loadFiles(ctx context.Context, env Env, node *v1alpha1.ValkeyNode, revision string) (refusal, err error) {
	settings := node.Spec.ValkeySettings
	files := func(ca string) []string {
		return command("CONFIG SET", "tls-cert-file", settings["tls-cert-file"],
			"tls-key-file", settings["tls-key-file"], "tls-ca-cert-file", ca)
	}
	ca := settings["tls-ca-cert-file"]
	named := path.Join(path.Dir(ca), objects.RevisionFile(revision))
	replies, err := env.Valkey.Do(ctx, node.Name, files(named), files(ca))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node.Name, err)
	}
	for _, r := range replies {
		if r.Err != nil {
			return r.Err, nil
		}
	}
	return nil, nil
}

// touch has the node's kubelet refresh the Pod's files. A server that was given
// all the time a kubelet may take is an error: it is the files that it refuses.
func touch(ctx context.Context, env Env, node string, copied *corev1.Secret, refusal error) error {
	now, revision := env.Snapshot.At, objects.CopiedRevision(copied.Data)
	if !certificateOf(env, node).Asked(revision, now) {
		touched := map[string]string{objects.TouchAnnotation: objects.Touch(revision, now)}
		if err := annotate(ctx, env, node, touched); err != nil {
			return err
		}
	}
	since, err := time.Parse(time.RFC3339, copied.Annotations[objects.CopiedAtAnnotation])
	if err != nil || now.Sub(since) <= refusedFor {
		return nil
	}
	return fmt.Errorf("%s: it does not take the certificate of Secret %q, and its log says why: %w",
		node, copied.Annotations[objects.CopiedFromAnnotation], refusal)
}

// certificateOf is what was seen of the node's certificate.
func certificateOf(env Env, node string) *engine.NodeCertificate {
	for i := range env.Snapshot.Nodes {
		if n := &env.Snapshot.Nodes[i]; n.Name == node {
			return &n.Certificate
		}
	}
	return &engine.NodeCertificate{}
}

// prove records what the node's server was seen to serve.
func prove(ctx context.Context, env Env, node *v1alpha1.ValkeyNode, revision string) error {
	proved := node.DeepCopy()
	proved.Status.Certificate = revision
	err := env.Kube.Status().Patch(ctx, proved, client.MergeFrom(node))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("record the certificate of node %s: %w", node.Name, err)
	}
	return nil
}
