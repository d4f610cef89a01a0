package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A nameWatch asks DNS for every name that servers tell their clients, as soon as they do.
type nameWatch struct {
	suite    *suite
	key      client.ObjectKey
	resolver *net.Resolver
	stop     context.CancelFunc
	done     sync.WaitGroup
	// late is how long after it was told a name resolved, 0 if at once; below 0 while it does not.
	late map[string]time.Duration
}

// unresolved is what a nameWatch holds of a name that does not resolve yet.
const unresolved = time.Duration(-1)

// cmdNames watches the names that a cluster tells its clients.
func cmdNames(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	switch {
	case len(args) == 2 && args[0] == "watch":
		resolver, err := s.dns(context.Background())
		ts.Check(err)
		ctx, stop := context.WithCancel(context.Background())
		s.names = &nameWatch{suite: s.suite, key: s.key(args[1]), resolver: resolver, stop: stop, late: map[string]time.Duration{}}
		s.names.done.Go(func() { s.names.run(ctx) })
		ts.Defer(s.names.end)
	case len(args) == 2 && args[0] == "resolved" && s.names != nil:
		s.names.end()
		ts.Logf("names told to clients, and how long after that they resolved: %v", s.names.late)
		if n := len(s.names.late); n < count(ts, args[1]) {
			ts.Fatalf("%d names were told, want at least %s", n, args[1])
		}
		for name, late := range s.names.late {
			if late != 0 {
				ts.Fatalf("%s was told to clients before it resolved", name)
			}
		}
	default:
		ts.Fatalf("names: watch CLUSTER, then resolved COUNT")
	}
}

func (w *nameWatch) end() {
	w.stop()
	w.done.Wait()
}

// dns resolves as Pods do: by the Service kube-dns, and in localkube, which has none, at the API server's address.
func (s *suite) dns(ctx context.Context) (*net.Resolver, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	api, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	server := net.JoinHostPort(api.Hostname(), "53")
	var service corev1.Service
	err = s.kube.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &service)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err == nil {
		server = net.JoinHostPort(service.Spec.ClusterIP, "53")
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: answerLimit}).DialContext(ctx, network, server)
	}}, nil
}

// run asks one server after another, each for as long as it answers.
func (w *nameWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		pods, err := w.suite.pods(ctx, w.key)
		if err != nil {
			continue
		}
		for i := range pods {
			w.follow(ctx, &pods[i])
		}
	}
}

// follow asks one server for what it tells clients until it does not answer.
func (w *nameWatch) follow(ctx context.Context, pod *corev1.Pod) {
	trust, password, err := w.suite.trust(ctx, w.key, pod.Name)
	if err != nil {
		return
	}
	c, err := asOperator(pod, password, trust)
	if err != nil {
		return
	}
	defer c.Close()
	for ctx.Err() == nil {
		names, err := announced(ctx, c)
		if err != nil {
			return
		}
		for _, name := range names {
			w.look(ctx, name)
		}
	}
}

// announced are the hosts of CLUSTER SLOTS, each as often as it is named.
func announced(ctx context.Context, c valkey.Client) ([]string, error) {
	ranges, err := c.Do(ctx, c.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, r := range ranges {
		parts, err := r.ToArray()
		if err != nil || len(parts) < 3 {
			return nil, fmt.Errorf("read CLUSTER SLOTS: %w", err)
		}
		for _, server := range parts[2:] {
			fields, err := server.ToArray()
			if err != nil || len(fields) == 0 {
				return nil, fmt.Errorf("read CLUSTER SLOTS: %w", err)
			}
			name, err := fields[0].ToString()
			if err != nil {
				return nil, err
			}
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// look asks DNS for a name that is new, or that it did not know before.
func (w *nameWatch) look(ctx context.Context, name string) {
	late, known := w.late[name]
	if known && late != unresolved {
		return
	}
	asked := time.Now()
	for first := true; ctx.Err() == nil; first = false {
		_, err := w.resolver.LookupHost(ctx, name)
		var missing *net.DNSError
		if err == nil {
			w.late[name] = time.Since(asked).Truncate(time.Millisecond)
			if first {
				w.late[name] = 0
			}
			return
		}
		if w.late[name] = unresolved; !errors.As(err, &missing) || time.Since(asked) > answerLimit {
			return
		}
		time.Sleep(lookAgain)
	}
}
