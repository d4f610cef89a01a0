package derivation

import (
	"fmt"

	"cuelang.org/go/cue"
)

// Conf renders settings as valkey.conf: the same text for the same settings as
// Desired.Conf. It serves nodes whose settings are no longer the derived ones.
func (d *Deriver) Conf(settings map[string]string) (string, error) {
	d.evaluating.Lock()
	defer d.evaluating.Unlock()
	text, err := d.program.conf.FillPath(cue.ParsePath("settings"), settings).LookupPath(outPath).String()
	if err != nil {
		return "", fmt.Errorf("render valkey.conf: %w", programError(err))
	}
	return text, nil
}
