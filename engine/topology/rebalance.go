package topology

import (
	"cmp"
	"slices"
)

// A Transfer moves slots from one owner to another; both are indices.
type Transfer struct {
	From, To int
	Slots    []Range
}

// Rebalance plans the fewest slots to move so that the first keep owners hold
// all of them, in sizes that differ by at most one. owners[i] are the slots of
// owner i, in order. It takes from the end of what an owner holds, so that what
// stays is contiguous where it was.
//
// Carrying out any part of a plan and planning again gives the rest of it.
func Rebalance(owners [][]Range, keep int) []Transfer {
	if keep < 1 || keep > len(owners) {
		return nil
	}
	surplus := excesses(owners, keep)
	left := make([][]Range, len(owners))
	for i := range owners {
		left[i] = slices.Clone(owners[i])
	}
	var plan []Transfer
	to := 0
	for from := range owners {
		for surplus[from] > 0 {
			for to < keep && surplus[to] >= 0 {
				to++
			}
			if to == keep {
				return plan
			}
			n := min(surplus[from], -surplus[to])
			var moved []Range
			left[from], moved = cutEnd(left[from], n)
			plan = append(plan, Transfer{From: from, To: to, Slots: moved})
			surplus[from] -= n
			surplus[to] += n
		}
	}
	return plan
}

// excesses says by how many slots each owner is over its share, or under it.
// The slots that do not divide go to those that hold the most.
func excesses(owners [][]Range, keep int) []int {
	total := 0
	sizes := make([]int, len(owners))
	for i, ranges := range owners {
		sizes[i] = Count(ranges)
		total += sizes[i]
	}
	order := make([]int, keep)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	out := slices.Clone(sizes)
	for rank, i := range order {
		out[i] -= total / keep
		if rank < total%keep {
			out[i]--
		}
	}
	return out
}

// cutEnd splits the last n slots off the ranges.
func cutEnd(ranges []Range, n int) (rest, end []Range) {
	rest = ranges
	for n > 0 && len(rest) > 0 {
		last := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		take := min(n, last.Len())
		if take < last.Len() {
			rest = append(slices.Clone(rest), Range{last.From, last.To - take})
		}
		end = append(end, Range{last.To - take + 1, last.To})
		n -= take
	}
	slices.Reverse(end)
	return rest, end
}

// Head returns the first n slots of the ranges.
func Head(ranges []Range, n int) []Range {
	var out []Range
	for _, r := range ranges {
		if n <= 0 {
			break
		}
		take := min(n, r.Len())
		out = append(out, Range{r.From, r.From + take - 1})
		n -= take
	}
	return out
}
