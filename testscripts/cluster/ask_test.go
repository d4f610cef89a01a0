package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
)

// A member is one server as it describes itself and all others.
type member struct {
	pod   string
	peers []engine.Peer     // its CLUSTER NODES
	marks []engine.SlotMark // the slots that it has marked as on the move
	nodes string            // CLUSTER NODES as it is, to be shown
	info  string            // its CLUSTER INFO
	asked int               // how often it was asked for CLUSTER NODES, this time included
}

// shakesHands says that the server has met somebody whose id it does not know yet.
func (m member) shakesHands() bool {
	return slices.ContainsFunc(m.peers, func(p engine.Peer) bool { return p.Handshake })
}

// self is the server's own line, the zero Peer if it is missing.
func (m *member) self() engine.Peer { return myself(m.peers) }

func myself(peers []engine.Peer) engine.Peer {
	if me := (&engine.Server{Peers: peers}).Self(); me != nil {
		return *me
	}
	return engine.Peer{}
}

// members asks every server of the cluster, as the operator's user.
func (s *suite) members(ctx context.Context, key client.ObjectKey) ([]member, error) {
	var all []member
	err := s.eachServer(ctx, key, func(ctx context.Context, pod string, c valkey.Client) error {
		m, err := describe(ctx, c)
		m.pod = pod
		all = append(all, m)
		return err
	})
	return all, err
}

// eachServer connects to every server of the cluster, as the operator's user, until one gives an error.
func (s *suite) eachServer(ctx context.Context, key client.ObjectKey, ask func(ctx context.Context, pod string, c valkey.Client) error) error {
	var pods corev1.PodList
	if err := s.kube.List(ctx, &pods, of(key)...); err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		return fmt.Errorf("%s has no pods", key)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		err := s.atServer(ctx, key, pod, func(c valkey.Client) error { return ask(ctx, pod.Name, c) })
		if err != nil {
			return fmt.Errorf("ask %s: %w", pod.Name, err)
		}
	}
	return nil
}

// atServer connects to the server in one Pod of the cluster, as the operator's user.
func (s *suite) atServer(ctx context.Context, key client.ObjectKey, pod *corev1.Pod, use func(valkey.Client) error) error {
	trust, password, err := s.trust(ctx, key, pod.Name)
	if err != nil {
		return err
	}
	c, err := asOperator(pod, password, trust)
	if err != nil {
		return err
	}
	defer c.Close()
	return use(c)
}

// asOperator is a connection to one server alone, of the operator's user.
func asOperator(pod *corev1.Pod, password string, trust *tls.Config) (valkey.Client, error) {
	return valkey.NewClient(valkey.ClientOption{
		InitAddress: []string{net.JoinHostPort(pod.Status.PodIP, "6379")}, Username: operatorUser, Password: password,
		ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true, TLSConfig: trust,
	})
}

// trust is what a connection to the Pod needs.
func (s *suite) trust(ctx context.Context, key client.ObjectKey, pod string) (trust *tls.Config, password string, err error) {
	secret, err := s.tlsSecret(ctx, key)
	if err != nil {
		return nil, "", err
	}
	if trust, err = s.tlsConfig(ctx, key, secret, pod); err != nil {
		return nil, "", err
	}
	password, err = s.operatorPassword(ctx, key)
	return trust, password, err
}

// describe lets one server describe itself and all others.
func describe(ctx context.Context, c valkey.Client) (m member, err error) {
	if m.nodes, err = c.Do(ctx, c.B().Arbitrary("CLUSTER", "NODES").Build()).ToString(); err != nil {
		return m, err
	}
	if m.peers, m.marks, err = replies.Nodes(m.nodes); err != nil {
		return m, err
	}
	if m.info, err = c.Do(ctx, c.B().Arbitrary("CLUSTER", "INFO").Build()).ToString(); err != nil {
		return m, err
	}
	stats, err := c.Do(ctx, c.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		return m, err
	}
	const calls = "cmdstat_cluster|nodes:calls="
	for line := range strings.Lines(stats) {
		if !strings.HasPrefix(line, calls) {
			continue
		}
		if _, err := fmt.Sscanf(line, calls+"%d", &m.asked); err != nil {
			return m, fmt.Errorf("read %q: %w", line, err)
		}
	}
	return m, nil
}
