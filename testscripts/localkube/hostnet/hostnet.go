// Package hostnet is the cluster's network as the host has it: a bridge, a cable to each machine, and the routes to pods
// and Services. It must not change any other link, route or kernel setting of the host.
package hostnet

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/vishvananda/netlink"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

// Inside is the name of the cable's end in the machine.
const Inside = "eth0"

// Up makes the bridge and the route to the Services, which the control plane's own kube-proxy forwards.
func Up(l layout.Layout) error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: l.Bridge()}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("make bridge %s: %w", l.Bridge(), err)
	}
	address, err := netlink.ParseAddr(l.HostAddress() + "/24")
	if err != nil {
		return fmt.Errorf("read the host's address: %w", err)
	}
	if err := netlink.AddrAdd(bridge, address); err != nil {
		return fmt.Errorf("give %s the address %s: %w", l.Bridge(), address, err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("switch %s on: %w", l.Bridge(), err)
	}
	return route(l.ServiceNetwork(), l.ControlPlaneAddress())
}

// Connect lays a cable from the bridge into the network namespace of a process. index is 0 for the control plane.
func Connect(l layout.Layout, machine string, index, pid int) error {
	bridge, err := netlink.LinkByName(l.Bridge())
	if err != nil {
		return fmt.Errorf("find bridge %s: %w", l.Bridge(), err)
	}
	name := l.Link(machine)
	if err := remove(name); err != nil {
		return err
	}
	cable := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: name, MasterIndex: bridge.Attrs().Index, Flags: net.FlagUp},
		PeerName:      Inside,
		PeerNamespace: netlink.NsPid(pid),
	}
	if err := netlink.LinkAdd(cable); err != nil {
		return fmt.Errorf("connect %s: %w", machine, err)
	}
	if err := netlink.LinkSetUp(cable); err != nil {
		return fmt.Errorf("switch the link of %s on: %w", machine, err)
	}
	if index == 0 {
		return nil
	}
	return route(l.NodePodNetwork(index), l.NodeAddress(index))
}

// Cut pulls a machine's cable, seen from both ends; Mend puts it back.
func Cut(l layout.Layout, machine string) error {
	link, err := netlink.LinkByName(l.Link(machine))
	if err != nil {
		return fmt.Errorf("find the link of %s: %w", machine, err)
	}
	if err := netlink.LinkSetDown(link); err != nil {
		return fmt.Errorf("switch the link of %s off: %w", machine, err)
	}
	return nil
}

// Mend undoes Cut and restores the route to the machine's pods.
func Mend(l layout.Layout, machine string, index int) error {
	link, err := netlink.LinkByName(l.Link(machine))
	if err != nil {
		return fmt.Errorf("find the link of %s: %w", machine, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("switch the link of %s on: %w", machine, err)
	}
	return route(l.NodePodNetwork(index), l.NodeAddress(index))
}

// Disconnect removes a machine's cable; none is no error.
func Disconnect(l layout.Layout, machine string) error { return remove(l.Link(machine)) }

// Down removes all links of the cluster; the routes go with the bridge.
func Down(l layout.Layout) error {
	links, err := Links(l)
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range links {
		failed = append(failed, remove(name))
	}
	return errors.Join(failed...)
}

// Links are the names of the host's links that belong to the cluster.
func Links(l layout.Layout) ([]string, error) {
	links, err := listLinks()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	var ours []string
	for _, link := range links {
		name := link.Attrs().Name
		if name == l.Bridge() || strings.HasPrefix(name, l.Bridge()+"-") {
			ours = append(ours, name)
		}
	}
	return ours, nil
}

// interruptions is how often a list may be cut short before that is an error.
const interruptions = 20

// listLinks asks again when links came or went meanwhile: the kernel then says
// that its list may be incomplete. Where others make and remove links that
// happens now and then.
func listLinks() ([]netlink.Link, error) {
	for tries := 1; ; tries++ {
		links, err := netlink.LinkList()
		if tries == interruptions || !errors.Is(err, netlink.ErrDumpInterrupted) {
			return links, err
		}
	}
}

func remove(name string) error {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find link %s: %w", name, err)
	}
	// A cable goes by itself with the other end's namespace, perhaps just now.
	err = netlink.LinkDel(link)
	if _, gone := netlink.LinkByName(name); errors.As(gone, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove link %s: %w", name, err)
	}
	return nil
}

func route(network, via string) error {
	_, destination, err := net.ParseCIDR(network)
	if err != nil {
		return fmt.Errorf("read network %s: %w", network, err)
	}
	if err := netlink.RouteReplace(&netlink.Route{Dst: destination, Gw: net.ParseIP(via)}); err != nil {
		return fmt.Errorf("route %s via %s: %w", network, via, err)
	}
	return nil
}
