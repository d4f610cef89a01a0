package engine

import "strings"

const (
	logLevel = "loglevel"
	// usualLevel is what a server logs at unless it is told otherwise.
	usualLevel = "notice"
	// hushedLevel leaves out the lines of single slots.
	hushedLevel = "warning"
)

// logging finds the servers that are about to give slots away and log at the usual level, and those that were hushed
// for it and have given them.
//
// When a job has ended, its source logs a line for each slot before it deletes the keys, all in its only thread
// (delKeysInSlot in valkey/src/cluster_legacy.c): a thousand lines that a container runtime has to take, while all its
// clients wait. Of 230 ms that was nearly all. Who asks for more than the usual gets it, lines of slots included.
func (c *comparison) logging(plan []Move, s *ScalingFacts) {
	if len(s.Moves) > 0 {
		gives := map[string]bool{}
		for _, m := range plan {
			gives[m.FromID] = true
		}
		s.Noisy = c.logsAt(usualLevel, hushedLevel, gives)
	}
	if done := c.covered && (len(plan) == 0 || s.Blocked != ""); done && s.Running == 0 {
		all := map[string]bool{}
		for _, n := range c.heard {
			all[n.Server.ID] = true
		}
		s.Hushed = c.logsAt(hushedLevel, usualLevel, all)
	}
}

// logsAt are those of the servers that log at a level and should have the usual one, each with the one it is to get.
func (c *comparison) logsAt(level, instead string, ids map[string]bool) []SettingChange {
	var out []SettingChange
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if c.hears(n) && ids[n.Server.ID] && n.Server.Settings[logLevel] == level && logsAsUsual(c.shouldHave(n)) {
			out = append(out, SettingChange{Node: n.Name, Settings: map[string]string{logLevel: instead}})
		}
	}
	return out
}

// logsAsUsual says that the settings ask for nothing but the usual level.
func logsAsUsual(settings map[string]string) bool {
	level, set := settings[logLevel]
	return !set || strings.EqualFold(level, usualLevel)
}

// hushed says that the server has another level than the usual one for its moves' sake, which is no drift.
func (n *Node) hushed(name, value string) bool {
	return name == logLevel && strings.EqualFold(value, usualLevel) && n.Server.Settings[logLevel] == hushedLevel
}
