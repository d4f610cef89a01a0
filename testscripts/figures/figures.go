// Package figures keeps what measured scenarios find: they append a line a finding to a file, and of all lines of several
// runs a table of medians and ranges is made. It must not judge: what a scenario has to keep is said in the scenario.
package figures

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Variable names the file that scenarios append to; without it nothing is kept.
const Variable = "RELIABILITY_RECORD"

// A Figure is one line of the file: a run of a scenario that began, or what one part of it came to.
type Figure struct {
	Scenario string `json:"scenario"`
	// Began marks the line that a scenario writes first, so that a run that failed before its figures is not overlooked.
	Began bool `json:"began,omitempty"`
	// What was done to the cluster, in words.
	What string `json:"what,omitempty"`
	// Lost is how many acknowledged writes were lost.
	Lost int `json:"lost,omitempty"`
	// Gap is the longest time without an acknowledged write to any range of slots.
	Gap time.Duration `json:"gap,omitempty"`
	// Healed is how long after it the cluster had nothing left to do; 0 where nobody waited for that.
	Healed time.Duration `json:"healed,omitempty"`
}

// Append adds a line to the file that Variable names.
func Append(f Figure) error {
	path := os.Getenv(Variable)
	if path == "" {
		return nil
	}
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("record %s: %w", f.Scenario, err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("record %s: %w", f.Scenario, err)
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Read returns all lines of a file.
func Read(path string) ([]Figure, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Figure
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var f Figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w", path, len(all)+1, err)
		}
		all = append(all, f)
	}
	return all, lines.Err()
}
