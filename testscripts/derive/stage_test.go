package derive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
)

// Passwords of the system users; each bound user's password is its own name.
const (
	operatorPassword = "operator-password"
	replPassword     = "repl-password"
)

// stage is what one scenario works with.
type stage struct {
	module  string
	deriver *derivation.Deriver
	dir     string
	desired engine.Desired
	server  *server
}

func (s *stage) stop() {
	if s.server != nil {
		s.server.stop()
	}
}

// derive derives the files' cluster and writes what comes out.
func (s *stage) derive(ts *testscript.TestScript, args []string) (string, error) {
	var menu menu
	for _, file := range args {
		if err := menu.read(ts.ReadFile(file)); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
	}
	in, err := s.input(ts, menu)
	if err != nil {
		return "", err
	}
	d, err := s.deriverOf()
	if err != nil {
		return "", err
	}
	desired, extras, err := d.Derive(in)
	if err != nil {
		return "", err
	}
	s.desired = desired
	return verdict(desired), s.write(desired, extras)
}

// deriverOf is the shared deriver, or one with the scenario's policies.
func (s *stage) deriverOf() (*derivation.Deriver, error) {
	policies := filepath.Join(s.dir, "policies")
	if _, err := os.Stat(policies); err != nil {
		return s.deriver, nil
	}
	return derivation.Load(os.DirFS(s.module), os.DirFS(policies))
}

func (s *stage) input(ts *testscript.TestScript, m menu) (derivation.Input, error) {
	in := derivation.Input{
		Name: m.cluster.Name, Namespace: m.cluster.Namespace, Cluster: m.cluster.Spec,
		Images: m.images, Roles: m.roles, TLSProblem: ts.Getenv("TLS_PROBLEM"),
		Operator: derivation.Defaults{DefaultZoneSpread: ts.Getenv("DEFAULT_ZONE_SPREAD"), RequireACL: ts.Getenv("REQUIRE_ACL") == "true"},
	}
	in.Chain = derivation.Walk(m.cluster.Spec.ConfigRef, func(name string) (*v1alpha1.ValkeyConfigSpec, bool) {
		c, ok := m.configs[name]
		return &c, ok
	})
	if ts.Getenv("NO_SECRET") == "" {
		in.OperatorHashes, in.ReplHashes = []string{sum(operatorPassword)}, []string{sum(replPassword)}
	}
	if text := ts.Getenv("NODE_TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil {
			return in, fmt.Errorf("NODE_TIMEOUT: %w", err)
		}
		in.Operator.NodeTimeout = ms
	}
	return in, nil
}

func sum(password string) string {
	h := sha256.Sum256([]byte(password))
	return hex.EncodeToString(h[:])
}

// verdict is what the derivation says of the specs.
func verdict(d engine.Desired) string {
	var b strings.Builder
	if d.Problem == "" {
		b.WriteString("accepted\n")
	} else {
		fmt.Fprintf(&b, "refused %s: %s\n", d.Reason, d.Problem)
	}
	for _, w := range d.Warnings {
		fmt.Fprintf(&b, "warning %s: %s\n", w.Reason, w.Message)
	}
	return b.String()
}

// write leaves the results where a scenario compares them.
func (s *stage) write(d engine.Desired, extras derivation.Extras) error {
	node, err := yaml.Marshal(map[string]any{
		"image": d.Node.Image, "version": d.Version, "cpu": d.Node.CPU, "memory": d.Node.Memory, "tlsSecret": d.Node.TLSSecret,
		"zones": d.Node.Placement.Zones, "zoneSpread": d.Node.Placement.ZoneSpread, "nodeSelector": d.Node.Placement.NodeSelector,
		"pullSecrets": extras.PullSecrets, "tolerations": extras.Tolerations, "priorityClassName": extras.PriorityClassName,
		"podAnnotations": d.PodAnnotations, "shards": d.Topology.Shards, "replicasPerShard": d.Topology.ReplicasPerShard,
	})
	if err != nil {
		return fmt.Errorf("write the node: %w", err)
	}
	for name, content := range map[string]string{"valkey.conf": d.Conf, "users.acl": d.ACLFile, "node.yaml": string(node)} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// menu is what a scenario's YAML files hold.
type menu struct {
	cluster v1alpha1.ValkeyCluster
	configs map[string]v1alpha1.ValkeyConfigSpec
	images  map[string]v1alpha1.ValkeyImageSpec
	roles   map[string]v1alpha1.ValkeyRoleSpec
}

func (m *menu) read(text string) error {
	if m.configs == nil {
		m.configs = map[string]v1alpha1.ValkeyConfigSpec{}
		m.images = map[string]v1alpha1.ValkeyImageSpec{}
		m.roles = map[string]v1alpha1.ValkeyRoleSpec{}
	}
	for _, doc := range bytes.Split([]byte(text), []byte("\n---\n")) {
		if err := m.add(doc); err != nil {
			return err
		}
	}
	return nil
}

func (m *menu) add(doc []byte) error {
	var head struct {
		Kind     string
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return err
	}
	switch name := head.Metadata.Name; head.Kind {
	case "ValkeyCluster":
		m.cluster = v1alpha1.ValkeyCluster{}
		return yaml.UnmarshalStrict(doc, &m.cluster)
	case "ValkeyConfig":
		return keep[v1alpha1.ValkeyConfigSpec](m.configs, name, doc)
	case "ValkeyImage":
		return keep[v1alpha1.ValkeyImageSpec](m.images, name, doc)
	case "ValkeyRole":
		return keep[v1alpha1.ValkeyRoleSpec](m.roles, name, doc)
	default:
		return fmt.Errorf("kind %q is not one of the menu's", head.Kind)
	}
}

// keep reads the spec of a document.
func keep[Spec any](specs map[string]Spec, name string, doc []byte) error {
	var object struct {
		Spec Spec `json:"spec"`
	}
	if err := yaml.Unmarshal(doc, &object); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	specs[name] = object.Spec
	return nil
}
