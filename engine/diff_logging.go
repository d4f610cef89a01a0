package engine

import "strings"

const (
	logLevel = "loglevel"
	// usualLevel is what a server logs at unless it is told otherwise.
	usualLevel = "notice"
	// hushedLevel leaves out the lines of single slots.
	hushedLevel = "warning"
)

// logging finds the sources of the plan that log at the usual level, and the servers that were hushed for one.
//
// When a job has ended, its source logs a line for each slot before it deletes the keys, all in its only thread
// ("Deleting keys in dirty slot" in valkey/src/cluster_legacy.c): a thousand lines that a container runtime has to take,
// while all its clients wait. Who asks for more than the usual gets it, lines of slots included.
func (c *comparison) logging(plan []Move) (noisy, hushed []SettingChange) {
	if !c.covered {
		return nil, nil
	}
	gives := map[string]bool{}
	for _, m := range plan {
		gives[m.From] = true
	}
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if !c.hears(n) || !logsAsUsual(c.shouldHave(n)) {
			continue
		}
		switch level := n.Server.Settings[logLevel]; {
		case level == usualLevel && gives[n.Name]:
			noisy = append(noisy, SettingChange{Node: n.Name, Settings: map[string]string{logLevel: hushedLevel}})
		case level == hushedLevel:
			hushed = append(hushed, SettingChange{Node: n.Name, Settings: map[string]string{logLevel: usualLevel}})
		}
	}
	return noisy, hushed
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
