package objects_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// TestNodeSpecSurvivesTheAPIServer: a node whose spec came back changed would
// be replaced for ever.
func TestNodeSpecSurvivesTheAPIServer(t *testing.T) {
	word := rapid.StringMatching(`[a-z0-9]{1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		want := engine.NodeSpec{
			Image: word.Draw(t, "image"), CPU: word.Draw(t, "cpu"), Memory: word.Draw(t, "memory"), TLSSecret: word.Draw(t, "tls"),
			Settings: rapid.MapOfN(word, rapid.String(), 1, 5).Draw(t, "settings"),
			Placement: engine.Placement{
				Zones:        rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "zones"),
				ZoneSpread:   rapid.SampledFrom([]string{"bestEffort", "required"}).Draw(t, "spread"),
				NodeSelector: rapid.SampledFrom([]map[string]string{nil, {"disk": "ssd"}}).Draw(t, "selector"),
			},
		}
		node := objects.ValkeyNode(cluster(), "cart-0a1b2", engine.Desired{Node: want}, engine.NewNode{}, objects.PodDefaults{})
		text, err := json.Marshal(node)
		if err != nil {
			t.Fatal(err)
		}
		var live v1alpha1.ValkeyNode
		if err := json.Unmarshal(text, &live); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, objects.NodeSpec(live.Spec)); diff != "" {
			t.Fatal(diff)
		}
	})
}
