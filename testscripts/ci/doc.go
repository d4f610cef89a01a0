// Package ci runs what a pipeline runs: the cue command and the operator's own on manifests, good and bad, with what they
// answer. It has no code of its own, only scripts and a test.
package ci
