// Package vet checks manifests of the API before a cluster sees them: each by itself, as `cue vet` does, and then what they
// come to together, as the operator would derive it.
//
// It holds no rule: what is wrong, and in which words, is the CUE's to say; it finds the place in the files. It must not talk
// to Kubernetes.
package vet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"valkey.gomomento.com/operator/engine/derivation"
)

// A Remark is one thing to say about a place in the files.
type Remark struct {
	At derivation.Place
	// Warning marks what does not keep the manifests from being accepted.
	Warning bool
	// Object is kind and name, "" where a file cannot be read.
	Object string
	// Field is the path from the manifest's root, "" for the whole.
	Field string
	Said  string
}

// String is a line as compilers write it.
func (r Remark) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", r.At)
	if r.Warning {
		b.WriteString("warning: ")
	}
	for _, part := range []string{r.Object, r.Field} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	return b.String() + r.Said
}

// A Report is what a check has found.
type Report struct {
	// Objects is how many manifests of the API there were.
	Objects int
	// Remarks are sorted by place, each there once.
	Remarks []Remark
}

// Errors is how many remarks are no warnings.
func (r Report) Errors() int { return len(r.Remarks) - r.Warnings() }

// Warnings is how many remarks are warnings.
func (r Report) Warnings() int {
	n := 0
	for _, remark := range r.Remarks {
		if remark.Warning {
			n++
		}
	}
	return n
}

// String is one line for each remark, and one that counts them.
func (r Report) String() string {
	var b strings.Builder
	for _, remark := range r.Remarks {
		fmt.Fprintln(&b, remark)
	}
	fmt.Fprintf(&b, "%s checked, %s, %s\n", count(r.Objects, "object"), count(r.Errors(), "error"), count(r.Warnings(), "warning"))
	return b.String()
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// sorted are remarks by place, each once: many clusters may meet the same mistake in the menu.
func sorted(remarks []Remark) []Remark {
	slices.SortFunc(remarks, func(a, b Remark) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column),
			cmp.Compare(a.String(), b.String()))
	})
	return slices.Compact(remarks)
}
