package figures

import (
	"fmt"
	"slices"
	"strings"
)

// The marks between which a document holds the table. All else in it is written by hand.
const (
	begin = "<!-- figures: written by `make reliability` -->"
	end   = "<!-- end of figures -->"
)

// Render puts the figures into a document. Rows keep the places that they have in it, and rows of scenarios that did not
// run keep their figures; a row that is new comes after those of its scenario, or last.
func Render(document string, all []Figure) (string, error) {
	before, rest, found := strings.Cut(document, begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the document has no lines %q and %q", begin, end)
	}
	lines := merge(tableRows(table), rows(all))
	return before + begin + "\n" + Head + "\n" + strings.Join(lines, "\n") + "\n" + end + after, nil
}

// tableRows are the lines of a table without its head.
func tableRows(table string) []string {
	var lines []string
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "|") && !strings.Contains(Head, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func merge(old []string, found []*row) []string {
	lines := slices.Clone(old)
	for _, r := range found {
		line := r.String()
		if place := slices.IndexFunc(lines, func(l string) bool { return sameKind(l) == sameKind(line) }); place >= 0 {
			lines[place] = line
			continue
		}
		lines = slices.Insert(lines, placeAfter(lines, r.scenario), line)
	}
	return lines
}

// placeAfter is the place after the last row of a scenario, or at the end.
func placeAfter(lines []string, scenario string) int {
	for i, line := range slices.Backward(lines) {
		if strings.HasSuffix(sameKind(line), "|`"+scenario+"`") {
			return i + 1
		}
	}
	return len(lines)
}
