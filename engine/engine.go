// Package engine decides what the operator does next.
//
// It is the pure half of the operator: values in, values out. It reads no
// clock, opens no connection and logs nothing, so that every decision can be
// replayed from a Snapshot, a Desired and a list of Rules:
//
//	facts := engine.Diff(snapshot, desired)
//	decision := engine.Decide(facts, rules)
//
// Observing a cluster and acting on it belong to packages operator and
// actions, which import this one; it imports the standard library only.
package engine
