// Package cue carries the CUE module of the operator in its binary: the same files that `cue vet` reads in CI. It must not
// evaluate them; that is the work of engine/derivation and engine/ruleset.
package cue

import "embed"

// FS is the module, cue.mod at its root.
//
//go:embed cue.mod api/v1alpha1/*.cue derive/*.cue policy/*.cue rules/*.cue vet/*.cue
var FS embed.FS
