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

// LimitAddresses leaves a running node's pods the first count addresses of their network; 0 gives all of them back. The
// bridge has the first one.
func LimitAddresses(c Config, count int) error {
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
	bridge, ok := list["plugins"].([]any)[0].(map[string]any)
	if !ok {
		return fmt.Errorf("%s has no bridge", path)
	}
	bridge["ipam"].(map[string]any)["ranges"] = [][]map[string]string{{addressRange(network, count)}}
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
