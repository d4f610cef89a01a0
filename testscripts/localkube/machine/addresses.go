package machine

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// networkFile is the network configuration of a node's pods, which containerd reads again when it changes.
const networkFile = "10-bridge.conflist"

// mostAddresses is how many addresses a node's pods can have: .2 to .254 of a /24.
const mostAddresses = 253

// LimitAddresses leaves a running node's pods the first count addresses of their network; 0 gives all of them back. The
// bridge has the first one.
func LimitAddresses(c Config, count int) error {
	if count < 0 || count > mostAddresses {
		return fmt.Errorf("%d addresses: a node can have 1 to %d, and 0 gives all of them back", count, mostAddresses)
	}
	network, err := netip.ParsePrefix(c.Layout.NodePodNetwork(c.Index))
	if err != nil {
		return err
	}
	path := filepath.Join(c.Layout.Machine(c.Name), "cni", networkFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var list map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	ipam, found := bridgeAddresses(list)
	if !found {
		return fmt.Errorf("%s: its first plugin gives out no addresses", path)
	}
	ipam["ranges"] = [][]map[string]string{{addressRange(network, count)}}
	changed, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	// By a rename, so that containerd never reads half of it.
	if err := os.WriteFile(path+".new", changed, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// bridgeAddresses is the part of a network configuration that says which addresses the bridge gives out.
func bridgeAddresses(list map[string]any) (ipam map[string]any, found bool) {
	plugins, _ := list["plugins"].([]any)
	if len(plugins) == 0 {
		return nil, false
	}
	bridge, _ := plugins[0].(map[string]any)
	ipam, found = bridge["ipam"].(map[string]any)
	return ipam, found
}

func addressRange(network netip.Prefix, count int) map[string]string {
	all := map[string]string{"subnet": network.String()}
	if count == 0 {
		return all
	}
	first := network.Addr().As4()
	first[3] = 2
	last := first
	last[3] += byte(count - 1)
	all["rangeStart"], all["rangeEnd"] = netip.AddrFrom4(first).String(), netip.AddrFrom4(last).String()
	return all
}
