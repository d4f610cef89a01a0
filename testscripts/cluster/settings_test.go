package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func cmdSetting(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	key := client.ObjectKey{Namespace: s.ns, Name: args[1]}
	start := time.Now()
	ts.Check(within(context.Background(), limit(ts, args[0]), func() error {
		return s.eachServer(context.Background(), key, func(ctx context.Context, pod string, c valkey.Client) error {
			live, err := c.Do(ctx, c.B().ConfigGet().Parameter(args[2]).Build()).AsStrMap()
			if err == nil && live[args[2]] != args[3] {
				err = fmt.Errorf("%s has %s %q", pod, args[2], live[args[2]])
			}
			return err
		})
	}))
	ts.Logf("every server had %s after %.2fs", args[2], time.Since(start).Seconds())
}

// errDrifted ends the walk after the first server.
var errDrifted = errors.New("one server is enough")

func cmdDrift(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	err := s.eachServer(context.Background(), client.ObjectKey{Namespace: s.ns, Name: args[0]}, func(ctx context.Context, _ string, c valkey.Client) error {
		if err := c.Do(ctx, c.B().ConfigSet().ParameterValue().ParameterValue(args[1], args[2]).Build()).Error(); err != nil {
			return err
		}
		return errDrifted
	})
	if !errors.Is(err, errDrifted) {
		ts.Fatalf("change a setting by hand: %v", err)
	}
}

// eachServer asks every server of the cluster, as the operator's user, until one gives an error.
func (s *suite) eachServer(ctx context.Context, key client.ObjectKey, ask func(ctx context.Context, pod string, c valkey.Client) error) error {
	var pods corev1.PodList
	if err := s.kube.List(ctx, &pods, client.InNamespace(key.Namespace),
		client.MatchingLabels{"app.kubernetes.io/instance": key.Name}); err != nil {
		return err
	}
	var auth corev1.Secret
	if err := s.kube.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-operator-auth"}, &auth); err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		return fmt.Errorf("%s has no pods", key)
	}
	for _, pod := range pods.Items {
		err := asOperator(pod.Status.PodIP+":6379", string(auth.Data["operator-password"]), func(c valkey.Client) error {
			return ask(ctx, pod.Name, c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func asOperator(address, password string, use func(valkey.Client) error) error {
	c, err := valkey.NewClient(valkey.ClientOption{
		InitAddress: []string{address}, Username: "_momento_operator", Password: password,
		ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	return use(c)
}
