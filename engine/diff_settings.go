package engine

import (
	"maps"
	"slices"

	"valkey.gomomento.com/operator/engine/directive"
)

// nodeTimeoutDirective is low while a cluster forms, since Valkey waits for it
// (clamped to 500..5000 ms) before it believes a quorum it has just found
// (clusterUpdateState in valkey/src/cluster_legacy.c).
const nodeTimeoutDirective = "cluster-node-timeout"

// settingsOutdate says that the node needs a successor to have the settings it
// should: a directive differs that its server does not take live, or one is
// wanted no more. A server cannot be told to have its default again. A node
// that has not joined is outdated by any difference: it holds nothing, and a
// setting that keeps it from starting must be mended by a new one.
func (c *comparison) settingsOutdate(n *Node) bool {
	have, want := n.Spec.Settings, c.want.Node.Settings
	if maps.Equal(have, want) {
		return false
	}
	if !c.joined(n) {
		return true
	}
	for name, value := range have {
		if wanted, still := want[name]; !still || wanted != value && !c.takesLive(n, name) {
			return true
		}
	}
	for name := range want {
		if _, recorded := have[name]; !recorded && !c.takesLive(n, name) {
			return true
		}
	}
	return false
}

// takesLive goes by what the server says it is, and only without a word of it by what its image is said to be.
func (c *comparison) takesLive(n *Node, name string) bool {
	version := c.want.Version
	if n.Server != nil {
		version = n.Server.Version
	}
	span, live := c.want.Live[name]
	return live && span.Holds(version)
}

// settings compares every member that answers with the settings it should have
// live. A cluster that forms has other ones, for as long as that takes, and after
// it those that its nodes record: there is nothing to tell or to record. Specs that
// are not accepted ask for none.
func (c *comparison) settings(f *Facts) {
	if c.want.Problem != "" || c.creating && f.Forming.Unready != "" {
		return
	}
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if !c.hears(n) || c.dead(n) || !c.joined(n) || n.Server.Settings == nil {
			continue
		}
		should := c.shouldHave(n)
		differs, news := c.compareLive(n, should)
		switch {
		case len(differs) == 0:
			f.Nodes.note(n, news)
		case overlap(differs, news):
			f.Members.Untold = append(f.Members.Untold, SettingChange{Node: n.Name, Settings: differs})
		default:
			f.Members.Drifted = append(f.Members.Drifted, SettingChange{Node: n.Name, Settings: differs})
		}
	}
}

// note enters settings that the node's server has and that the node does not record yet. The record of one that is being
// deleted goes with it.
func (f *NodeFacts) note(n *Node, news map[string]string) {
	if len(news) > 0 && !n.Deleting {
		f.Unrecorded = append(f.Unrecorded, SettingChange{Node: n.Name, Settings: news})
	}
}

// shouldHave are the settings that the node's server should have for now. One
// that waits for a successor of another image or another size keeps what its
// node records: what suits the successor may be too much for it, as the
// maxmemory of a larger Pod is, or unknown to its release. A cluster that forms
// does so with what it began with, too, and one whose specs are not accepted
// keeps what it has.
func (c *comparison) shouldHave(n *Node) map[string]string {
	if c.creating || c.want.Problem != "" || n.Spec.Image != c.want.Node.Image || n.Spec.Memory != c.want.Node.Memory {
		return n.Spec.Settings
	}
	return c.want.Node.Settings
}

// compareLive finds the live directives whose value on the server is not the one it should have, and those that the node
// does not record at that value.
func (c *comparison) compareLive(n *Node, should map[string]string) (differs, news map[string]string) {
	differs, news = map[string]string{}, map[string]string{}
	for name, value := range should {
		if !c.takesLive(n, name) || n.hushed(name, value) {
			continue
		}
		if !n.reads(name, value) {
			differs[name] = value
		}
		if have, recorded := n.Spec.Settings[name]; !recorded || have != value {
			news[name] = value
		}
	}
	return differs, news
}

// reads says that the server has the value live. What a server made of a value
// that it was told before counts as that value.
func (n *Node) reads(name, value string) bool {
	live, told := n.Server.Settings[name]
	if !told {
		return false
	}
	return directive.Same(name, value, live) || n.Spellings[name] == Spelling{Written: value, Read: live}
}

func overlap(a, b map[string]string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(a)), func(name string) bool {
		_, both := b[name]
		return both
	})
}
