// Package chart tests the Helm chart of the operator with the real Helm that tools/go.mod pins: what it
// renders, what it refuses, what it grants, and (with the build tag `cluster`) that a real API server
// takes it through install, upgrade, uninstall and a second install. It holds tests only and must not
// import the operator: the chart is judged by what users of it see.
package chart
