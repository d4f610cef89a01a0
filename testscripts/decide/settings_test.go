package decide

import (
	"maps"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// live are the directives that a server on paper takes by CONFIG SET.
var live = map[string]engine.Span{
	"cluster-node-timeout": {Since: 702}, "hz": {Since: 702}, "io-threads": {Since: 901},
	"loglevel":  {Since: 702},
	"maxmemory": {Since: 702}, "maxmemory-policy": {Since: 702},
}

// withDefaults are the settings that a new server has live.
func withDefaults(settings map[string]string) map[string]string {
	all := map[string]string{"loglevel": "notice"}
	maps.Copy(all, settings)
	return all
}

// mostHertz is the value that a server makes of a higher hz.
const mostHertz = "500"

// editSetting is what a config's edit comes to; without a value the directive goes.
func (w *world) editSetting(name string, value []string) {
	settings := map[string]string{}
	maps.Copy(settings, w.desired.Node.Settings)
	w.desired.Node.Settings = settings
	if len(value) == 0 {
		delete(w.desired.Node.Settings, name)
		return
	}
	w.desired.Node.Settings[name] = value[0]
}

// setSettings is CONFIG SET, with what the action notes of it.
func (w *world) setSettings(c engine.SettingChange) {
	n := w.node(c.Node)
	for name, value := range c.Settings {
		n.Server.Settings[name] = value
		if name == "hz" && len(value) > len(mostHertz) {
			n.Server.Settings[name] = mostHertz
			n.Spellings = map[string]engine.Spelling{name: {Written: value, Read: mostHertz}}
		}
	}
}

func (w *world) recordSettings(c engine.SettingChange) {
	n := w.node(c.Node)
	n.Spec.Settings = maps.Clone(n.Spec.Settings)
	maps.Copy(n.Spec.Settings, c.Settings)
}

func cmdDrift(ts *testscript.TestScript, _ bool, args []string) {
	drift(at(ts).world.node(args[0]), args[1], args[2])
}

func drift(n *engine.Node, name, value string) {
	if n.Server != nil {
		n.Server.Settings[name] = value
	}
}

// recordsUnseen says which node is made to record a setting that its server does not have.
func (w *world) recordsUnseen(a *actions.RecordSettings) string {
	for _, c := range a.Changes {
		n := w.node(c.Node)
		for name, value := range c.Settings {
			if n.Server == nil || n.Server.Settings[name] != value && n.Spellings[name].Written != value {
				return "records " + name + " that the server of " + c.Node + " does not have"
			}
		}
	}
	return ""
}
