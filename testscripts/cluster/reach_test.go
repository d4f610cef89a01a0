package cluster

import (
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/testscripts/copies"
	"valkey.gomomento.com/operator/testscripts/traffic"
)

// key is a cluster of the scenario.
func (s *scenario) key(cluster string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.ns, Name: cluster}
}

// options reads NAME=VALUE arguments, of which only the given names are known, and returns the words around them too.
func options(ts *testscript.TestScript, args []string, known ...string) (words []string, values map[string]string) {
	values = map[string]string{}
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		switch {
		case found && slices.Contains(known, name):
			values[name] = value
		case found && len(known) > 0 && len(words) == 0:
			ts.Fatalf("%s: only %s are known here", arg, strings.Join(known, ", "))
		default:
			words = append(words, arg)
		}
	}
	return words, values
}

// of are the options to list what belongs to the cluster, with these labels and their values besides.
func of(key client.ObjectKey, labels ...string) []client.ListOption {
	match := client.MatchingLabels{objects.LabelInstance: key.Name}
	for i := 0; i+1 < len(labels); i += 2 {
		match[labels[i]] = labels[i+1]
	}
	return []client.ListOption{client.InNamespace(key.Namespace), match}
}

// pods are the cluster's Pods that have an address, those of one shard when selectors say so.
func (s *suite) pods(ctx context.Context, key client.ObjectKey, labels ...string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := s.kube.List(ctx, &pods, of(key, labels...)...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Status.PodIP == "" || p.Status.Phase != corev1.PodRunning
	}), nil
}

// host is a Pod's name in DNS, which its certificate holds.
func host(key client.ObjectKey, pod string) string {
	return fmt.Sprintf("%s.%s.%s.svc.cluster.local", pod, key.Name, key.Namespace)
}

// tlsSecret is the name of the cluster's TLS Secret, "" without TLS.
func (s *suite) tlsSecret(ctx context.Context, key client.ObjectKey) (string, error) {
	var cluster v1alpha1.ValkeyCluster
	if err := s.kube.Get(ctx, key, &cluster); err != nil {
		return "", err
	}
	if cluster.Spec.TLS == nil {
		return "", nil
	}
	return cluster.Spec.TLS.SecretRef, nil
}

// access is how the cluster's clients reach it from this machine, where the names of Pods mean nothing.
func (s *suite) access(ctx context.Context, key client.ObjectKey, user, password string) (traffic.Access, error) {
	a := traffic.Access{Username: user, Password: password, Resolve: s.resolver(key)}
	pods, err := s.pods(ctx, key)
	if err != nil {
		return a, err
	}
	secret, err := s.tlsSecret(ctx, key)
	if err != nil {
		return a, err
	}
	if a.TLS, err = s.tlsConfig(ctx, key, secret, ""); err != nil {
		return a, err
	}
	for _, pod := range pods {
		name := pod.Status.PodIP
		if a.TLS != nil {
			name = host(key, pod.Name)
		}
		a.Seeds = append(a.Seeds, net.JoinHostPort(name, "6379"))
	}
	return a, nil
}

// resolver finds the address of a Pod by its name in DNS, and leaves addresses as they are.
func (s *suite) resolver(key client.ObjectKey) func(context.Context, string) (string, error) {
	suffix := strings.TrimPrefix(host(key, ""), ".")
	return func(ctx context.Context, address string) (string, error) {
		name, port, err := net.SplitHostPort(address)
		if err != nil {
			return "", err
		}
		if name == suffix {
			return s.anyPod(ctx, key, port)
		}
		pod, found := strings.CutSuffix(name, "."+suffix)
		if !found {
			return address, nil
		}
		var p corev1.Pod
		if err := s.kube.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: pod}, &p); err != nil {
			return "", err
		}
		return net.JoinHostPort(p.Status.PodIP, port), nil
	}
}

// anyPod is the address of one of the cluster's Pods, as its Service's name gives it.
func (s *suite) anyPod(ctx context.Context, key client.ObjectKey, port string) (string, error) {
	pods, err := s.pods(ctx, key)
	if err != nil {
		return "", err
	}
	if len(pods) == 0 {
		return "", fmt.Errorf("no Pod of %s has an address", key)
	}
	return net.JoinHostPort(pods[rand.IntN(len(pods))].Status.PodIP, port), nil
}

// operatorPassword is that of _momento_operator.
func (s *suite) operatorPassword(ctx context.Context, key client.ObjectKey) (string, error) {
	var auth corev1.Secret
	err := s.kube.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: objects.AuthName(key.Name)}, &auth)
	return string(auth.Data[objects.OperatorPasswordKey]), err
}

// podsAge is how old a list of Pods may be: the API server is not to be asked ten times a second.
const podsAge = 300 * time.Millisecond

// watched are the options to watch the cluster's copies with.
func (s *suite) watched(ctx context.Context, key client.ObjectKey, target int) (copies.Options, error) {
	o := copies.Options{Target: target}
	var err error
	if o.Password, err = s.operatorPassword(ctx, key); err != nil {
		return o, err
	}
	secret, err := s.tlsSecret(ctx, key)
	if err != nil {
		return o, err
	}
	trust, err := s.tlsConfig(ctx, key, secret, "")
	if err != nil {
		return o, err
	}
	if trust != nil {
		o.TLS, o.RootCAs = true, trust.RootCAs
	}
	o.Servers = s.servers(key)
	return o, nil
}

// servers lists where the cluster's servers are now.
func (s *suite) servers(key client.ObjectKey) func(context.Context) ([]copies.Server, error) {
	var mu sync.Mutex
	var listed time.Time
	var last []copies.Server
	return func(ctx context.Context) ([]copies.Server, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(listed) < podsAge {
			return last, nil
		}
		pods, err := s.pods(ctx, key)
		if err != nil && last != nil && ctx.Err() == nil {
			listed = time.Now() // the API server is away: where nobody can make Pods the last list stays true
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		listed, last = time.Now(), nil
		for _, p := range pods {
			last = append(last, copies.Server{
				Name: string(p.UID), Address: net.JoinHostPort(p.Status.PodIP, "6379"), Hostname: host(key, p.Name),
			})
		}
		return last, nil
	}
}

// authority is the certificate authority of the cluster's TLS Secret, as a file holds it.
func (s *suite) authority(ctx context.Context, key client.ObjectKey, secret string) ([]byte, error) {
	var tls corev1.Secret
	if err := s.kube.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: secret}, &tls); err != nil {
		return nil, err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(tls.Data["ca.crt"]) {
		return nil, fmt.Errorf("no CA in Secret %s", secret)
	}
	return tls.Data["ca.crt"], nil
}
