// Command coredns is the cluster DNS of localkube: CoreDNS with the few plugins that answer Service and pod names. It is a
// module of its own because its Kubernetes libraries are of another version than those of the kubelet, and it must not
// forward anything: a name outside the cluster is refused at once.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	dnsserver.Directives = []string{"bind", "errors", "kubernetes"}
	coremain.Run()
}
