package derivation

import (
	"fmt"
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

// syntaxFault is a document that cannot be read. YAML's errors have their line only in their text.
func syntaxFault(file string, err error) *Fault {
	f := &Fault{At: Place{file, 1, 1}, Said: err.Error()}
	if at := cueerrors.Positions(err); len(at) > 0 && at[0].Line() > 0 {
		f.At = placeOf(at[0])
	}
	f.Said = strings.TrimPrefix(f.Said, file+":")
	if line, said, found := strings.Cut(f.Said, ": "); found {
		if n, err := strconv.Atoi(line); err == nil {
			f.At, f.Said = Place{file, n, 1}, said
		}
	}
	f.Said = strings.TrimSpace(f.Said)
	return f
}
