package machine

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"valkey.gomomento.com/operator/testscripts/localkube/hostnet"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

func nameHost(c Config) error {
	if err := unix.Sethostname([]byte(c.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	return nil
}

// connect gives the machine its address and the routes to the others' pods. There is no default route, so that an attempt
// to reach the world outside, for an image say, fails at once instead of running into a time-out.
func connect(c Config) error {
	if err := switchOn("lo", ""); err != nil {
		return err
	}
	if err := switchOn(hostnet.Inside, c.Layout.NodeAddress(c.Index)+"/24"); err != nil {
		return err
	}
	for i := 1; i <= c.Nodes; i++ {
		if i == c.Index {
			continue
		}
		if err := route(c.Layout.NodePodNetwork(i), c.Layout.NodeAddress(i)); err != nil {
			return err
		}
	}
	// kube-proxy rewrites these packets on their way out, but the kernel wants a route before it lets them set out.
	if err := route(c.Layout.ServiceNetwork(), c.Layout.HostAddress()); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("let the machine forward packets: %w", err)
	}
	return nil
}

func switchOn(name, address string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find link %s: %w", name, err)
	}
	if address != "" {
		parsed, err := netlink.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("read address %s: %w", address, err)
		}
		if err := netlink.AddrAdd(link, parsed); err != nil {
			return fmt.Errorf("give %s the address %s: %w", name, address, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("switch %s on: %w", name, err)
	}
	return nil
}

func route(network, via string) error {
	_, destination, err := net.ParseCIDR(network)
	if err != nil {
		return fmt.Errorf("read network %s: %w", network, err)
	}
	if err := netlink.RouteAdd(&netlink.Route{Dst: destination, Gw: net.ParseIP(via)}); err != nil {
		return fmt.Errorf("route %s via %s: %w", network, via, err)
	}
	return nil
}

// nodeNames are the lines of /etc/hosts for all machines.
func nodeNames(c Config) string {
	lines := "127.0.0.1 localhost\n" + c.Layout.ControlPlaneAddress() + " " + layout.ControlPlane + "\n"
	for i := 1; i <= c.Nodes; i++ {
		lines += c.Layout.NodeAddress(i) + " " + layout.NodeName(i) + "\n"
	}
	return lines
}
