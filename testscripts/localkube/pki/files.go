package pki

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

// kubeconfig carries its certificates in itself, so that the one file can be copied elsewhere.
var kubeconfig = template.Must(template.New("kubeconfig").Funcs(template.FuncMap{
	"base64": base64.StdEncoding.EncodeToString,
}).Parse(strings.TrimLeft(`
apiVersion: v1
kind: Config
clusters:
- name: localkube
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{base64 .Authority}}
users:
- name: {{.User}}
  user:
    client-certificate-data: {{base64 .Client.Certificate}}
    client-key-data: {{base64 .Client.Key}}
contexts:
- name: localkube
  context: {cluster: localkube, user: "{{.User}}"}
current-context: localkube
`, "\n")))

// Write makes all credentials of a cluster and writes them to the layout's PKI directory and the administrator's
// kubeconfig to its own place.
func Write(l layout.Layout, nodes int) error {
	if err := os.MkdirAll(l.PKI(), 0o700); err != nil {
		return fmt.Errorf("make the directory of certificates: %w", err)
	}
	authority, err := NewAuthority()
	if err != nil {
		return err
	}
	w := writer{layout: l, authority: authority}
	w.pair("ca")(authority.Pair())
	w.pair("service-accounts")(SigningKey())
	w.pair("kube-apiserver")(authority.Server("kube-apiserver", apiServerNames, l.ControlPlaneAddress(), l.KubernetesService(), "127.0.0.1"))
	w.pair("kubelet-client")(authority.Client("kube-apiserver-kubelet-client", "system:masters"))
	w.pair("probe")(authority.Client("localkube", "system:masters"))
	w.kubeconfig(l.Kubeconfig(), "admin", "system:masters")
	for _, component := range []string{"kube-controller-manager", "kube-scheduler", "kube-proxy"} {
		w.kubeconfig(w.path(component+".conf"), "system:"+component)
	}
	for i := 1; i <= nodes; i++ {
		w.node(i)
	}
	return w.err
}

var apiServerNames = []string{
	"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
}

// writer keeps the first error, so that Write reads as the list of what there is.
type writer struct {
	layout    layout.Layout
	authority *Authority
	err       error
}

func (w *writer) path(name string) string { return filepath.Join(w.layout.PKI(), name) }

func (w *writer) node(i int) {
	name := layout.NodeName(i)
	w.pair(name)(w.authority.Server(name, []string{name}, w.layout.NodeAddress(i)))
	w.kubeconfig(w.path(name+".conf"), "system:node:"+name, "system:nodes")
}

func (w *writer) pair(name string) func(Pair, error) {
	return func(p Pair, err error) {
		w.err = errors.Join(w.err, err,
			os.WriteFile(w.path(name+".crt"), p.Certificate, 0o600),
			os.WriteFile(w.path(name+".key"), p.Key, 0o600))
	}
}

func (w *writer) kubeconfig(file, user string, groups ...string) {
	client, err := w.authority.Client(user, groups...)
	w.err = errors.Join(w.err, err)
	var text strings.Builder
	err = kubeconfig.Execute(&text, struct {
		Server, User string
		Authority    []byte
		Client       Pair
	}{w.layout.Server(), user, w.authority.pem, client})
	w.err = errors.Join(w.err, err, os.WriteFile(file, []byte(text.String()), 0o600))
}
