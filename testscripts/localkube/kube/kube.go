// Package kube asks a cluster's API server the few questions that localkube has, over plain HTTPS and JSON, so that this
// program needs no client library. It must not change anything in the cluster.
package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

// poll is how often a condition is looked at that comes true within seconds; requestPatience is more than a healthy API
// server on a busy machine takes to answer.
const (
	poll            = 50 * time.Millisecond
	requestPatience = 10 * time.Second
)

// Client talks to one API server as an administrator.
type Client struct {
	server string
	http   *http.Client
}

// New makes a client from the credentials in the layout's PKI directory.
func New(l layout.Layout) (*Client, error) {
	authority, err := os.ReadFile(filepath.Join(l.PKI(), "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(l.PKI(), "probe.crt"), filepath.Join(l.PKI(), "probe.key"))
	if err != nil {
		return nil, fmt.Errorf("read the client's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &Client{server: l.Server(), http: &http.Client{
		Timeout:   requestPatience,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}},
	}}, nil
}

// WaitFor repeats a question until its answer is yes. Errors count as no; the last one is told when the context ends.
func WaitFor(ctx context.Context, what string, question func(context.Context) (bool, error)) error {
	for {
		yes, err := question(ctx)
		if yes && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, errors.Join(ctx.Err(), err))
		case <-time.After(poll):
		}
	}
}

// Ready says whether the API server is.
func (c *Client) Ready(ctx context.Context) (bool, error) {
	_, err := c.get(ctx, "/readyz")
	return err == nil, err
}

// NodesReady says whether so many nodes have the condition Ready.
func (c *Client) NodesReady(ctx context.Context, want int) (bool, error) {
	var nodes struct {
		Items []struct {
			Status struct{ Conditions []condition }
		}
	}
	if err := c.decode(ctx, "/api/v1/nodes", &nodes); err != nil {
		return false, err
	}
	ready := 0
	for _, node := range nodes.Items {
		if isReady(node.Status.Conditions) {
			ready++
		}
	}
	return ready >= want, nil
}

// NodeReady says whether that node has the condition Ready and has been started anew since a time.
func (c *Client) NodeReady(ctx context.Context, name string, since time.Time) (bool, error) {
	var node struct {
		Status struct{ Conditions []condition }
	}
	if err := c.decode(ctx, "/api/v1/nodes/"+name, &node); err != nil {
		return false, err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "True" && condition.LastHeartbeatTime.After(since), nil
		}
	}
	return false, nil
}

// HasServiceAccount says whether the namespace `default` has its ServiceAccount, without which no pod is admitted.
func (c *Client) HasServiceAccount(ctx context.Context) (bool, error) {
	_, err := c.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
	return err == nil, err
}

// Pod is where a pod runs.
type Pod struct{ UID, Node string }

// Pod finds a pod.
func (c *Client) Pod(ctx context.Context, namespace, name string) (Pod, error) {
	var pod struct {
		Metadata struct{ UID string }
		Spec     struct{ NodeName string }
	}
	err := c.decode(ctx, "/api/v1/namespaces/"+namespace+"/pods/"+name, &pod)
	return Pod{UID: pod.Metadata.UID, Node: pod.Spec.NodeName}, err
}

type condition struct {
	Type, Status      string
	LastHeartbeatTime time.Time
}

func isReady(conditions []condition) bool {
	for _, c := range conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

func (c *Client) decode(ctx context.Context, path string, into any) error {
	body, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask for %s: %s", path, response.Status)
	}
	return body, nil
}
