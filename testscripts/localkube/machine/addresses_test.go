package machine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

func TestLimitAddresses(t *testing.T) {
	c := Config{Layout: layout.Layout{State: t.TempDir()}, Name: "node-b", Index: 2, Nodes: 3}
	if err := os.MkdirAll(c.Layout.Machine(c.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := render(c, networkFile); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Layout.Machine(c.Name), "cni", networkFile)
	for _, count := range []int{-1, mostAddresses + 1} {
		if err := LimitAddresses(c, count); err == nil {
			t.Errorf("%d addresses were given out", count)
		}
	}
	for count, want := range map[int]string{
		7: `[[{"rangeEnd":"10.244.2.8","rangeStart":"10.244.2.2","subnet":"10.244.2.0/24"}]]`,
		0: `[[{"subnet":"10.244.2.0/24"}]]`,
	} {
		if err := LimitAddresses(c, count); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Plugins []struct {
				Type string
				IPAM struct{ Ranges json.RawMessage }
			}
		}
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(string(list.Plugins[0].IPAM.Ranges)), "")
		if got != want || len(list.Plugins) != 2 || list.Plugins[1].Type != "portmap" {
			t.Errorf("%d addresses: %s", count, text)
		}
	}
}
