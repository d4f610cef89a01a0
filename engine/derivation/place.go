package derivation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// A Place is where something stands in a file. Line and column count from 1.
type Place struct {
	File         string
	Line, Column int
}

// String is file:line:column, as editors jump to.
func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// A Fault is what is wrong at one place of a file.
type Fault struct {
	At Place
	// Field is the path from the manifest's root, "" when it is about the whole.
	Field string
	// Said says what is wrong, or what to write instead.
	Said string
}

func placeOf(pos token.Pos) Place { return Place{pos.Filename(), pos.Line(), pos.Column()} }

// uncounted begin the errors of the YAML parser, which count lines from 0, and leave the first one out. Those of its scanner
// count from 1.
var uncounted = []string{
	"did not find expected '", "did not find expected key", "did not find expected node content", "did not find expected <",
}

// syntaxFault is a document that cannot be read. YAML's errors have their line only in their text.
func syntaxFault(file string, err error) *Fault {
	f := &Fault{At: Place{file, 1, 1}, Said: err.Error()}
	if at := cueerrors.Positions(err); len(at) > 0 && at[0].Line() > 0 {
		f.At = placeOf(at[0])
	}
	f.Said = strings.TrimPrefix(f.Said, file+":")
	line, said, _ := strings.Cut(f.Said, ": ")
	n, err := strconv.Atoi(line)
	if err != nil {
		f.Said = strings.TrimSpace(f.Said)
		return f
	}
	if slices.ContainsFunc(uncounted, func(begin string) bool { return strings.HasPrefix(said, begin) }) {
		n++
	}
	f.At, f.Said = Place{file, n, 1}, said
	return f
}
