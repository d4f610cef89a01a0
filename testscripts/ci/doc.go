// Package ci runs what a pipeline runs: the cue command on manifests, good and bad, with what it answers. It has no code of its
// own, only scripts and a test.
package ci
