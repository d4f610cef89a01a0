// Package crds carries the CustomResourceDefinitions that tools/crdgen generates, for tests and for use without Helm. Nothing
// in it is written by hand.
package crds

import "embed"

// FS holds one YAML file for each kind, named after its plural.
//
//go:embed *.yaml
var FS embed.FS
