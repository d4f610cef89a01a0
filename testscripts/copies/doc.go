// Package copies watches how many synced copies every slot of a cluster has while something happens to it, and how
// often its owner changes.
//
// It believes what each server says of itself and nothing that one says of another, asks all of them in the same
// moment ten times a second, and must not judge whether that was enough: a test does.
package copies
