package model

import "slices"

// A Net is who can reach whom. The zero Net connects all.
type Net struct{ cuts []cut }

// A cut keeps packets from getting from any of some to any of others.
type cut struct {
	from, to func(name string) bool
}

// Split cuts a group off from all others, both ways.
func (n *Net) Split(group []string) {
	in := func(name string) bool { return slices.Contains(group, name) }
	out := func(name string) bool { return !in(name) }
	n.cuts = append(n.cuts, cut{in, out}, cut{out, in})
}

// Mute lets nothing get from a group to all others, who are still heard by it.
func (n *Net) Mute(group []string) {
	in := func(name string) bool { return slices.Contains(group, name) }
	n.cuts = append(n.cuts, cut{in, func(name string) bool { return !in(name) }})
}

// Heal connects all.
func (n *Net) Heal() { n.cuts = nil }

// Cut says that nothing gets from one to the other.
func (n *Net) Cut(from, to string) bool {
	return slices.ContainsFunc(n.cuts, func(c cut) bool { return c.from(from) && c.to(to) })
}
