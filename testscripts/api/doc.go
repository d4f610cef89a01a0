// Package api holds the rules of the API to a real API server: for each, an object that is accepted and one that is refused,
// with the message that a user reads. The same objects go through the CUE module, which must come to the same verdict. It has
// no code of its own, only tests and their scripts.
//
// A script has one object in object.yaml, and lines that change it:
//
//	accept EDIT…         the API server and cue vet take the object with these edits
//	refuse EDIT…         both refuse it
//	accept-update EDIT…  the API server lets the stored object (see store) be changed so
//	refuse-update EDIT…  it does not
//	store EDIT…          creates the object for good, for the updates that follow
//	message TEXT…        exactly what the last refusal said, one text for each cause
//
// An EDIT is PATH=VALUE, with the value in YAML, or PATH- to leave a field out. (TEXT*N) in a value is the text N times, with the
// count in place of each %d.
package api
