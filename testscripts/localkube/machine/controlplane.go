package machine

import (
	"context"
	"os"
	"path/filepath"

	"valkey.gomomento.com/operator/testscripts/localkube/kube"
)

const etcdURL = "http://127.0.0.1:2379"

// startControlPlane starts etcd and the API server, and what needs the API server once that is ready.
func startControlPlane(s *supervisor, c Config) error {
	files, err := render(c, "Corefile", "kube-proxy.yaml")
	if err != nil {
		return err
	}
	s.keep("etcd", etcdArguments(c)...)
	s.keep("kube-apiserver", apiServerArguments(c)...)
	if err := apiServerReady(c); err != nil {
		return err
	}
	s.keep("kube-controller-manager", controllerManagerArguments(c)...)
	if c.Nodes == 0 {
		return nil
	}
	s.keep("kube-scheduler", schedulerArguments(c)...)
	s.keep("coredns", "-conf", files["Corefile"])
	// It lets the API server and the host reach Services, whichever nodes are down.
	s.keep("kube-proxy", "--config", files["kube-proxy.yaml"])
	return nil
}

// apiServerReady waits without end: a machine whose API server never comes is ended by down.
func apiServerReady(c Config) error {
	client, err := kube.New(c.Layout)
	if err != nil {
		return err
	}
	return kube.WaitFor(context.Background(), "the API server", client.Ready)
}

func (c Config) secret(name string) string { return filepath.Join(c.Layout.PKI(), name) }

func etcdArguments(c Config) []string {
	return []string{
		"--data-dir", filepath.Join(c.Layout.Machine(c.Name), "etcd"),
		"--unsafe-no-fsync", // the data goes with the cluster
		"--listen-client-urls", etcdURL, "--advertise-client-urls", etcdURL,
		"--listen-peer-urls", "http://127.0.0.1:2380",
		"--log-level", "warn",
	}
}

func apiServerArguments(c Config) []string {
	address := c.Layout.ControlPlaneAddress()
	return []string{
		"--etcd-servers", etcdURL, "--secure-port", "6443", "--bind-address", address, "--advertise-address", address,
		"--tls-cert-file", c.secret("kube-apiserver.crt"), "--tls-private-key-file", c.secret("kube-apiserver.key"),
		"--client-ca-file", c.secret("ca.crt"),
		"--kubelet-client-certificate", c.secret("kubelet-client.crt"), "--kubelet-client-key", c.secret("kubelet-client.key"),
		"--kubelet-certificate-authority", c.secret("ca.crt"),
		"--kubelet-preferred-address-types", "InternalIP", // node names resolve nowhere
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", c.secret("service-accounts.crt"),
		"--service-account-signing-key-file", c.secret("service-accounts.key"),
		"--service-cluster-ip-range", c.Layout.ServiceNetwork(),
		"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
		"--allow-privileged", "--profiling=false",
	}
}

func controllerManagerArguments(c Config) []string {
	return append(clientArguments(c, "kube-controller-manager"),
		"--root-ca-file", c.secret("ca.crt"),
		"--service-account-private-key-file", c.secret("service-accounts.key"), "--use-service-account-credentials",
		"--cluster-signing-cert-file", c.secret("ca.crt"), "--cluster-signing-key-file", c.secret("ca.key"),
		"--flex-volume-plugin-dir", filepath.Join(os.TempDir(), "flex"),
		// A lost node is noticed in 20 s, so that fault tests need not wait for the usual 40.
		"--node-monitor-period", "2s", "--node-monitor-grace-period", "20s")
}

func schedulerArguments(c Config) []string { return clientArguments(c, "kube-scheduler") }

// clientArguments are those of a component of which there is one, and that must not be slowed by its client's own limits.
func clientArguments(c Config, component string) []string {
	return []string{
		"--kubeconfig", c.secret(component + ".conf"), "--leader-elect=false", "--bind-address", "127.0.0.1",
		"--kube-api-qps", "200", "--kube-api-burst", "400", "--profiling=false",
	}
}
