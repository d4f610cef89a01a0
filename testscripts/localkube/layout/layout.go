// Package layout says where everything of a local cluster lives: directories, addresses, names. It must not touch any of
// them; it is the one place to look when two parts have to agree on a path or an address.
package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// The variables that move a cluster elsewhere.
const (
	CacheVariable    = "LOCALKUBE_CACHE"    // where built parts are kept
	StateVariable    = "LOCALKUBE_STATE"    // where the running cluster keeps its files
	InstanceVariable = "LOCALKUBE_INSTANCE" // 0 to 9: clusters beside each other on one machine
)

// MaxNodes is how many nodes fit the addressing and can be named by one letter.
const MaxNodes = 9

// MaxInstance is the highest instance: pod networks are 10.244 to 10.253.
const MaxInstance = 9

// ControlPlane is the name of the machine that runs etcd, the API server and its companions.
const ControlPlane = "control-plane"

// Layout is one cluster's place on the machine.
type Layout struct {
	Cache    string // absolute directory
	State    string // absolute directory, removed by down
	Instance int    // separates bridges, networks and cgroups of clusters on the same machine
}

// FromEnvironment reads the three variables and fills in the defaults.
func FromEnvironment() (Layout, error) {
	instance, err := instance(os.Getenv(InstanceVariable))
	if err != nil {
		return Layout{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return Layout{}, err
	}
	state := os.Getenv(StateVariable)
	if state == "" {
		state = filepath.Join(cache, "run")
		if instance > 0 {
			state = fmt.Sprintf("%s-%d", state, instance)
		}
	}
	state, err = filepath.Abs(state)
	if err != nil {
		return Layout{}, fmt.Errorf("find the state directory: %w", err)
	}
	return Layout{Cache: cache, State: state, Instance: instance}, nil
}

func instance(value string) (int, error) {
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > MaxInstance {
		return 0, fmt.Errorf("%s must be 0 to %d, not %q", InstanceVariable, MaxInstance, value)
	}
	return n, nil
}

func cacheDir() (string, error) {
	dir := os.Getenv(CacheVariable)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory: %w", err)
		}
		dir = filepath.Join(base, "valkey-operator", "localkube")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return dir, nil
}
