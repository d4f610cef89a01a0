// Package traffic is a client that knows what it wrote: it sets numbered values through a cluster client for as long
// as something happens to the cluster, and then says how many acknowledged writes are gone, how many reads were wrong
// and for how long nothing could be written.
//
// It must not be gentler on the cluster than a real application: it asks nobody but the servers it is given, never
// writes twice what was not acknowledged, and counts as an error whatever its commands got as an error. What it
// reports is what it measured, its own stalls included.
package traffic
