package layout

import (
	"fmt"
	"strings"
)

// ServerPort is the API server's port on the control plane's address.
const ServerPort = 6443

// Bridge is the host's bridge that joins the machines.
func (l Layout) Bridge() string { return fmt.Sprintf("lk%d", l.Instance) }

// Link is the host's end of a machine's cable: lk0-a for node-a, lk0-cp for the control plane.
func (l Layout) Link(machine string) string {
	if machine == ControlPlane {
		return l.Bridge() + "-cp"
	}
	return l.Bridge() + strings.TrimPrefix(machine, "node")
}

// CgroupRoot is the cgroup, seen from the top of each hierarchy, below which all pods of the cluster run.
func (l Layout) CgroupRoot() string { return "localkube-" + l.Bridge() }

// HostAddress is the host's address on the bridge.
func (l Layout) HostAddress() string { return l.machineAddress(1) }

// ControlPlaneAddress is where the API server and the cluster DNS listen.
func (l Layout) ControlPlaneAddress() string { return l.machineAddress(2) }

// NodeAddress is the address of the i-th node; the first is 1, and 0 stands for the control plane.
func (l Layout) NodeAddress(i int) string {
	if i == 0 {
		return l.ControlPlaneAddress()
	}
	return l.machineAddress(10 + i)
}

func (l Layout) machineAddress(host int) string {
	return fmt.Sprintf("172.30.%d.%d", l.Instance, host)
}

// PodNetwork is the network of all pods.
func (l Layout) PodNetwork() string { return fmt.Sprintf("10.%d.0.0/16", 244+l.Instance) }

// NodePodNetwork is the network of the pods on the i-th node.
func (l Layout) NodePodNetwork(i int) string { return fmt.Sprintf("10.%d.%d.0/24", 244+l.Instance, i) }

// ServiceNetwork is the network of the Services' cluster IPs.
func (l Layout) ServiceNetwork() string { return fmt.Sprintf("10.%d.0.0/16", 96+l.Instance) }

// KubernetesService is the cluster IP of the API server, the first of the ServiceNetwork.
func (l Layout) KubernetesService() string { return fmt.Sprintf("10.%d.0.1", 96+l.Instance) }

// Server is the API server's URL.
func (l Layout) Server() string {
	return fmt.Sprintf("https://%s:%d", l.ControlPlaneAddress(), ServerPort)
}

// NodeName is the name of the i-th node: node-a, node-b, …
func NodeName(i int) string { return "node-" + NodeLetter(i) }

// NodeLetter is the letter that names the i-th node and its zone.
func NodeLetter(i int) string { return string(rune('a' + i - 1)) }

// NodeIndex is the inverse of NodeName; false for a name that no node can have.
func NodeIndex(name string) (int, bool) {
	for i := 1; i <= MaxNodes; i++ {
		if NodeName(i) == name {
			return i, true
		}
	}
	return 0, false
}
