package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A row is what was found of one thing done in one scenario, in all its runs.
type row struct {
	scenario, what string
	lost           []int
	gaps, healed   []time.Duration
	began          int
}

// rows gathers figures, in the order in which each kind came first.
func rows(all []Figure) []*row {
	began := map[string]int{}
	found := map[[2]string]*row{}
	var ordered []*row
	for _, f := range all {
		if f.Began {
			began[f.Scenario]++
			continue
		}
		key := [2]string{f.Scenario, f.What}
		if found[key] == nil {
			found[key] = &row{scenario: f.Scenario, what: f.What}
			ordered = append(ordered, found[key])
		}
		found[key].add(f)
	}
	for _, r := range ordered {
		r.began = max(began[r.scenario], len(r.gaps))
	}
	return ordered
}

func (r *row) add(f Figure) {
	r.lost = append(r.lost, f.Lost)
	r.gaps = append(r.gaps, f.Gap)
	if f.Healed > 0 {
		r.healed = append(r.healed, f.Healed)
	}
}

// runs says how many runs came to a figure, and of how many when some did not.
func (r *row) runs() string {
	if len(r.gaps) == r.began {
		return fmt.Sprint(r.began)
	}
	return fmt.Sprintf("%d of %d", len(r.gaps), r.began)
}

// String is the row in the table.
func (r *row) String() string {
	return fmt.Sprintf("| %s | `%s` | %s | %s | %s | %s |", r.what, r.scenario, r.runs(),
		spread(r.lost, func(n int) string { return fmt.Sprint(n) }), spread(r.gaps, inWords), spread(r.healed, inWords))
}

// spread is the median of the values, the worse of two in the middle, with the least and the most where these read
// differently.
func spread[T cmp.Ordered](values []T, tell func(T) string) string {
	if len(values) == 0 {
		return "–"
	}
	sorted := slices.Sorted(slices.Values(values))
	least, most := tell(sorted[0]), tell(sorted[len(sorted)-1])
	median := tell(sorted[len(sorted)/2])
	if least == most {
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, least, most)
}

// inWords is a time as a reader wants it: in milliseconds below a second, else in seconds.
func inWords(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Head is the head of the table.
const Head = "| what happens | scenario | runs | lost | longest gap | healed after |\n|---|---|---|---|---|---|"

// sameKind are the cells that say which row it is: what happens and where that is told.
func sameKind(line string) string {
	cells := strings.SplitN(line, "|", 4)
	if len(cells) < 4 {
		return line
	}
	return strings.TrimSpace(cells[1]) + "|" + strings.TrimSpace(cells[2])
}
