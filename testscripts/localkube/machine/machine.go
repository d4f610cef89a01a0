// Package machine is the inside of one machine of the cluster: the first process of its own PID, mount, network, UTS and
// IPC namespaces. It gives itself a network and a root file system, starts the Kubernetes components, restarts one that
// ends, and reaps orphans. All of it ends with this process, because the kernel ends a PID namespace with its first
// process. It must not change anything outside of its namespaces but its own directory of the state.
package machine

import (
	"encoding/json"
	"fmt"
	"os"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

// Command is the hidden sub-command that becomes a machine.
const Command = "machine"

// ConfigDescriptor is the file descriptor from which a machine reads its Config. Its parent writes it once the process is
// recorded and connected; when the parent dies before that, the machine reads nothing and ends.
const ConfigDescriptor = 3

// SeedName is the name of the machine that unpacks the images once for all nodes, and then ends.
const SeedName = "seed"

// Config is all that a machine is told.
type Config struct {
	Layout layout.Layout
	Name   string
	Index  int // 0 is the control plane, nodes count from 1
	Nodes  int // how many nodes the cluster has
}

// Seed says whether the machine only unpacks the images. Such a one has no network.
func (c Config) Seed() bool { return c.Name == SeedName }

// Worker says whether the machine is a node.
func (c Config) Worker() bool { return c.Index > 0 }

// Run is the life of a machine; it returns when the machine cannot start or, for the seed, is done.
func Run() error {
	pipe := os.NewFile(ConfigDescriptor, "config")
	var c Config
	if err := json.NewDecoder(pipe).Decode(&c); err != nil {
		return fmt.Errorf("read the machine's configuration: %w", err)
	}
	if err := pipe.Close(); err != nil {
		return fmt.Errorf("read the machine's configuration: %w", err)
	}
	if err := prepare(c); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	s := newSupervisor(c)
	go s.reap()
	if err := start(s, c); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	if c.Seed() {
		return nil
	}
	select {}
}

func start(s *supervisor, c Config) error {
	switch {
	case c.Seed():
		return plantSeed(s, c)
	case c.Worker():
		return startNode(s, c)
	}
	return startControlPlane(s, c)
}

func prepare(c Config) error {
	steps := []func(Config) error{nameHost, connect, enterRoot, writeFiles}
	if c.Seed() {
		steps = []func(Config) error{nameHost, enterRoot, writeFiles}
	}
	for _, step := range steps {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}
