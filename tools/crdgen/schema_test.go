package main

import (
	"encoding/json"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// What a CRD can say is said.
func TestCounterparts(t *testing.T) {
	tests := map[string]struct{ cue, want string }{
		"a required field": {`{a!: string}`, `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`},
		"a default":        {`{a?: *"x" | "y"}`, `{"type":"object","properties":{"a":{"type":"string","default":"x","enum":["x","y"]}}}`},
		"bounds":           {`{a?: int32 & >=1 & <=9}`, `{"type":"object","properties":{"a":{"type":"integer","format":"int32","maximum":9,"minimum":1}}}`},
		"a length and a bare pattern": {
			`{a?: strings.MaxRunes(9) & =~"^a"}`, `{"type":"object","properties":{"a":{"type":"string","maxLength":9,"pattern":"^a"}}}`,
		},
		"patterns in words": {
			`{a?: =~"^a" & !~"b" | error("must be so")}`,
			`{"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"self.matches(\"^a\") \u0026\u0026 !self.matches(\"b\")","message":"must be so"}]}}}`,
		},
		"a list that is not empty": {
			`{a?: list.MaxItems(3) & [string, ...string]}`,
			`{"type":"object","properties":{"a":{"type":"array","maxItems":3,"minItems":1,"items":{"type":"string"}}}}`,
		},
		"a bounded map": {
			`{a?: struct.MaxFields(3) & {[string]: string}}`,
			`{"type":"object","properties":{"a":{"type":"object","maxProperties":3,"additionalProperties":{"type":"string"}}}}`,
		},
		"a field that may not change": {
			"{@immutable(except=\"b\",message=\"no\")\na!: int, b?: int, c?: bool}",
			`{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"boolean"}},` +
				`"x-kubernetes-validations":[{"rule":"self.a == oldSelf.a \u0026\u0026 (has(self.c) ? has(oldSelf.c) \u0026\u0026 self.c == oldSelf.c : !has(oldSelf.c))","message":"no"}]}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := schema(compile(t, test.cue))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// What a CRD cannot say fails the generation, with the place.
func TestNothingIsDropped(t *testing.T) {
	tests := map[string]struct{ cue, want string }{
		"a fraction":                      {`{a?: float}`, "float has no structural schema"},
		"a choice of types":               {`{a?: int | string}`, "has no structural schema"},
		"a choice of constraints":         {`{a?: =~"^a" | =~"^b"}`, "a choice between constraints"},
		"an inequality":                   {`{a?: string & !="x"}`, "no OpenAPI counterpart for operator !="},
		"another validator":               {`{a?: strings.MaxRunes(3) & strings.MinRunes(1) & strings.HasPrefix("x")}`, "strings.HasPrefix"},
		"an object without fields":        {`{a?: {}}`, "must have either fields or [string]: values"},
		"an open object":                  {`{a?: {...}}`, "_ has no structural schema"},
		"fields beside a pattern of them": {`{a?: {b?: string, [string]: string}}`, "must have either fields or [string]: values"},
		"a list of anything":              {`{a?: []}`, "a list needs an element type"},
		"words beside a bound":            {`{a?: (int & >=1) | error("must be positive")}`, "must stand beside a pattern"},
		"a misspelt attribute":            {`{a?: string @cell(rule="true")}`, "unknown: rule"},
		"a misspelt argument":             {`{a?: string @cel(rule="true",mesage="x")}`, "unknown: mesage"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := schema(compile(t, test.cue))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "test.cue:") {
				t.Errorf("error %v, want one at test.cue with %q", err, test.want)
			}
		})
	}
}

func compile(t *testing.T, text string) cue.Value {
	t.Helper()
	text = "import (\n\"list\"\n\"strings\"\n\"struct\"\n)\n_used: [list.Max, strings.Join, struct.MaxFields]\n#a: " + text
	v := cuecontext.New().CompileString(text, cue.Filename("test.cue"))
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return v.LookupPath(cue.ParsePath("#a"))
}
