package engine

import "time"

const (
	// reloadFor is how long servers are told again and again to load a new certificate after their kubelets were asked
	// to bring it: a kubelet takes about a second.
	reloadFor = 3 * time.Second
	// reloadEvery is when a kubelet is asked again. In the time between, whatever else is to be done goes on: one server
	// that does not get the certificate must not hold up a cluster.
	reloadEvery = 6 * time.Second
)

// A Certificate is what was seen of a cluster's certificate, by revisions: hashes of certificate, key and authorities.
type Certificate struct {
	// Secret is the Secret that the spec names.
	Secret string
	// Offered is the revision of that Secret; "" while it is not there or a check of it fails.
	Offered string
	// Copied is the revision of the operator's copy, which the Pods mount; "" when there is none or it is not whole.
	Copied string
	// CopiedFrom is the Secret that the copy was made of.
	CopiedFrom string
}

// A NodeCertificate is what is known of one server's certificate.
type NodeCertificate struct {
	// Proved is the revision that the server was last seen to serve; "" when it never was.
	Proved string
	// Touched is the revision that the node's kubelet was last asked to bring, TouchedAt when.
	Touched   string
	TouchedAt time.Time
}

// CertificateFacts say where the certificate is on its way to the servers. Without TLS they ask for nothing.
type CertificateFacts struct {
	// Secret is the Secret that the spec names.
	Secret string `expr:"secret"`
	// Offered is the revision of that Secret, "" while it cannot be used.
	Offered string `expr:"offered"`
	// Uncopied says that the Secret holds what the operator's copy does not, and may be copied.
	Uncopied bool `expr:"uncopied"`
	// Copied is the revision that servers should serve, "" while there is none.
	Copied string `expr:"copied"`
	// Unserved are the nodes whose server answers and was not yet seen to serve it, sorted.
	Unserved []string `expr:"unserved"`
	// Due are those of them that are to be told now, sorted.
	Due []string `expr:"due"`
}

func (c *comparison) certificate() CertificateFacts {
	k := c.seen.Certificate
	if k == nil {
		return CertificateFacts{}
	}
	f := CertificateFacts{Secret: k.Secret, Offered: k.Offered, Copied: k.Copied, Uncopied: c.uncopied(k)}
	if k.Copied == "" {
		return f
	}
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if !c.hears(n) || n.Certificate.Proved == k.Copied {
			continue
		}
		f.Unserved = append(f.Unserved, n.Name)
		if c.reloadDue(&n.Certificate, k.Copied) {
			f.Due = append(f.Due, n.Name)
		}
	}
	return f
}

// uncopied says that the copy is to be made or renewed. Specs that are not accepted bring no other Secret into use, but
// the one in use is renewed all the same: a cluster must not lose its certificate over a mistake elsewhere.
func (c *comparison) uncopied(k *Certificate) bool {
	if k.Offered == "" || (k.Offered == k.Copied && k.Secret == k.CopiedFrom) {
		return false
	}
	return c.want.Problem == "" || k.Secret == k.CopiedFrom
}

// reloadDue says that the server is to be told: while its kubelet is at it, or once more.
func (c *comparison) reloadDue(n *NodeCertificate, copied string) bool {
	asked := n.Touched == copied && c.seen.At.Sub(n.TouchedAt) < reloadEvery
	return !asked || n.Asked(copied, c.seen.At)
}

// Asked says that the node's kubelet was asked to bring the revision so lately that it may still be at it. A time in
// the future is another clock's, and tells nothing.
func (n *NodeCertificate) Asked(revision string, at time.Time) bool {
	age := at.Sub(n.TouchedAt)
	return n.Touched == revision && age >= 0 && age < reloadFor
}
