package derivation

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// modulePath is the CUE module's, as cue.mod/module.cue names it.
const modulePath = "valkey.gomomento.com/operator/"

var (
	inPath  = cue.ParsePath("in")
	outPath = cue.ParsePath("out")
)

// program is the compiled CUE.
type program struct {
	input, derive, conf cue.Value
	directives          directives
	policies            []policy
}

// Load compiles the CUE module in fsys (its root is cue/) and the platform's
// policies, the *.cue files at the root of policies, which may be nil. It fails
// on the first file that does not compile, with file:line:column.
func Load(fsys, policies fs.FS) (*Deriver, error) {
	ctx := cuecontext.New()
	v, err := compile(ctx, fsys, "derive", nil)
	if err != nil {
		return nil, err
	}
	d := &Deriver{program: program{
		input:  v.LookupPath(cue.ParsePath("#Input")),
		derive: v.LookupPath(cue.ParsePath("#Derive")),
		conf:   v.LookupPath(cue.ParsePath("#Conf")),
	}}
	if err := v.LookupPath(cue.ParsePath("#Directives")).Decode(&d.program.directives); err != nil {
		return nil, programError(err)
	}
	if d.program.policies, err = loadPolicies(ctx, fsys, policies); err != nil {
		return nil, err
	}
	return d, nil
}

// source is one CUE file that is not in the module.
type source struct {
	name    string
	content []byte
}

// compile builds the package in dir of fsys, with one more file if extra is not nil.
func compile(ctx *cue.Context, fsys fs.FS, dir string, extra *source) (cue.Value, error) {
	l := &loader{fsys: fsys}
	l.context = build.NewContext(build.Loader(l.load))
	inst, err := l.instance(dir, extra)
	if err != nil {
		return cue.Value{}, programError(err)
	}
	v := ctx.BuildInstance(inst)
	if err := v.Err(); err != nil {
		return cue.Value{}, programError(err)
	}
	return v, v.Validate()
}

// loader finds the module's packages in a file system.
type loader struct {
	fsys    fs.FS
	context *build.Context
}

// load is called for each import; nil leaves it to CUE's own library.
func (l *loader) load(_ token.Pos, importPath string) *build.Instance {
	dir, ours := strings.CutPrefix(importPath, modulePath)
	if !ours {
		return nil
	}
	inst, err := l.instance(dir, nil)
	if err != nil {
		inst = l.context.NewInstance(dir, nil)
		inst.Err = cueerrors.Promote(err, importPath)
	}
	return inst
}

func (l *loader) instance(dir string, extra *source) (*build.Instance, error) {
	inst := l.context.NewInstance(dir, nil)
	names, err := fs.Glob(l.fsys, path.Join(dir, "*.cue"))
	if err != nil {
		return nil, fmt.Errorf("read CUE package %s: %w", dir, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("CUE package %s: %w", dir, fs.ErrNotExist)
	}
	var sources []source
	for _, name := range names {
		b, err := fs.ReadFile(l.fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read CUE package %s: %w", dir, err)
		}
		sources = append(sources, source{name, b})
	}
	if extra != nil {
		sources = append(sources, *extra)
	}
	return inst, add(inst, sources)
}

func add(inst *build.Instance, sources []source) error {
	for _, s := range sources {
		f, err := parser.ParseFile(s.name, s.content)
		if err != nil {
			return err
		}
		if err := inst.AddSyntax(f); err != nil {
			return err
		}
	}
	if err := inst.Complete(); err != nil {
		return err
	}
	return nil
}

// programError is an error of the CUE program with all its positions.
func programError(err error) error {
	return errors.New(strings.TrimSpace(cueerrors.Details(err, nil)))
}
