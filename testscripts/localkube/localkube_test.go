package main_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"valkey.gomomento.com/operator/testscripts/localkube/cgroup"
	"valkey.gomomento.com/operator/testscripts/localkube/hostnet"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/ledger"
	"valkey.gomomento.com/operator/testscripts/localkube/parts"
)

// instance leaves the clusters that people and other suites use alone.
const instance = "9"

// patience is for what takes a second or two on an idle machine.
const patience = 60 * time.Second

// host is the program under test and the cluster it works on.
type host struct {
	*testing.T
	program string
	layout  layout.Layout
}

func newHost(t *testing.T) host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("a cluster needs root")
	}
	t.Setenv(layout.InstanceVariable, instance)
	t.Setenv("KUBECONFIG", "")
	l, err := layout.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	h := host{T: t, program: filepath.Join(t.TempDir(), "localkube"), layout: l}
	h.run("go", "build", "-o", h.program, ".")
	h.localkube("build")
	h.localkube("down")
	t.Cleanup(func() { h.localkube("down") })
	return h
}

func (h host) run(name string, args ...string) string {
	h.Helper()
	var stderr bytes.Buffer
	command := exec.Command(name, args...)
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		h.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, output, &stderr)
	}
	return string(output)
}

func (h host) localkube(args ...string) string { h.Helper(); return h.run(h.program, args...) }

func (h host) kubectl(args ...string) string {
	h.Helper()
	return h.run(h.layout.Program("kubectl"), append([]string{"--kubeconfig", h.layout.Kubeconfig()}, args...)...)
}

// eventually waits until a question is answered with nothing to complain about.
func (h host) eventually(complaint func() string) {
	h.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		text := complaint()
		if text == "" {
			return
		}
		if time.Now().After(deadline) {
			h.Fatal(text)
		}
	}
}

// ping says what keeps the servers of the pods on these nodes from answering the host.
func (h host) ping(node string) string {
	pods := strings.Fields(h.kubectl("-n", "restricted", "get", "pods", "-l", "app=valkey", "-o",
		`jsonpath={range .items[?(@.status.podIP)]}{.spec.nodeName}={.status.podIP} {end}`))
	answered := 0
	for _, pod := range pods {
		on, ip, _ := strings.Cut(pod, "=")
		if node != "" && node != on {
			continue
		}
		if err := pong(ip); err != nil {
			return fmt.Sprintf("pod %s: %v", pod, err)
		}
		answered++
	}
	if want := map[bool]int{true: 6, false: 2}[node == ""]; answered != want {
		return fmt.Sprintf("%d of %d pods have an address", answered, want)
	}
	return ""
}

func pong(ip string) error {
	const patience = 500 * time.Millisecond
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(ip, "6379"), patience)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := connection.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := connection.Read(answer)
	if err == nil && string(answer[:n]) != "+PONG\r\n" {
		err = fmt.Errorf("answered %q", answer[:n])
	}
	return err
}

// assertNothingLeft looks for links, cgroups, files, and, by their view of the mounts, for processes of the cluster.
func (h host) assertNothingLeft() {
	h.Helper()
	links, err := hostnet.Links(h.layout)
	if err != nil || len(links) > 0 {
		h.Errorf("links left: %v %v", links, err)
	}
	cgroups, err := cgroup.Left(h.layout.CgroupRoot())
	if err != nil || len(cgroups) > 0 {
		h.Errorf("cgroups left: %v %v", cgroups, err)
	}
	if _, err := os.Stat(h.layout.State); err == nil {
		h.Errorf("%s is left", h.layout.State)
	}
	mountTables, err := fs.Glob(os.DirFS("/proc"), "[0-9]*/mountinfo")
	if err != nil {
		h.Fatal(err)
	}
	for _, table := range mountTables {
		mounts, err := os.ReadFile(filepath.Join("/proc", table))
		if err == nil && strings.Contains(string(mounts), h.layout.State+"/") {
			h.Errorf("process %s is left, or has mounts of the cluster", filepath.Dir(table))
		}
	}
}

func TestPodsRunAndSurviveFaults(t *testing.T) {
	h := newHost(t)
	h.localkube("up")
	h.refusesToStartTwice()
	h.runsServersUnderRestrictedPodSecurity()
	h.reportsAMissingImageAtOnce()

	// A node that loses its power comes back with its pods.
	h.localkube("crash", "node-b")
	if h.ping("node-b") == "" {
		t.Error("pods of a crashed node answer")
	}
	h.localkube("boot", "node-b")
	h.eventually(func() string { return h.ping("") })

	// A cut cable separates a node from the host, and nothing else happens to it.
	h.localkube("partition", "node-c")
	if h.ping("node-c") == "" {
		t.Error("pods of a partitioned node answer")
	}
	h.localkube("heal", "node-c")
	h.eventually(func() string { return h.ping("node-c") })

	h.localkube("down")
	h.assertNothingLeft()
}

func (h host) refusesToStartTwice() {
	h.Helper()
	output, err := exec.Command(h.program, "up").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "already up") {
		h.Errorf("a second up: %v, %s", err, output)
	}
}

func (h host) runsServersUnderRestrictedPodSecurity() {
	h.Helper()
	versions, err := parts.Versions(h.layout)
	if err != nil {
		h.Fatal(err)
	}
	pods, err := os.ReadFile("testdata/pods.yaml")
	if err != nil {
		h.Fatal(err)
	}
	file := filepath.Join(h.TempDir(), "pods.yaml")
	text := strings.Replace(string(pods), "docker.io/valkey/valkey:9\n", versions[0].Image()+"\n", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
	h.kubectl("apply", "-f", "testdata/namespace.yaml")
	begin := time.Now()
	h.kubectl("apply", "-f", file)
	h.eventually(func() string { return h.ping("") })
	h.Logf("6 servers answered %.1f s after the apply", time.Since(begin).Seconds())
	h.spreadOverZones()
}

func (h host) spreadOverZones() {
	h.Helper()
	nodes := h.kubectl("-n", "restricted", "get", "pods", "-l", "app=valkey", "-o", "jsonpath={.items[*].spec.nodeName}")
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		if n := strings.Count(nodes, node); n != 2 {
			h.Errorf("%d pods on %s, want 2: %s", n, node, nodes)
		}
	}
}

func (h host) reportsAMissingImageAtOnce() {
	h.Helper()
	h.eventually(func() string { // the namespace's ServiceAccount may still be missing
		output, err := exec.Command(h.layout.Program("kubectl"), "--kubeconfig", h.layout.Kubeconfig(),
			"apply", "-f", "testdata/missing-image.yaml").CombinedOutput()
		if err != nil {
			return string(output)
		}
		return ""
	})
	begin := time.Now()
	h.eventually(func() string {
		reason := h.kubectl("-n", "restricted", "get", "pod", "missing", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.reason}")
		if reason == "ErrImagePull" || reason == "ImagePullBackOff" {
			return ""
		}
		return "the missing image is reported as " + reason
	})
	h.Logf("a missing image was reported after %.1f s", time.Since(begin).Seconds())
}

// A cluster whose `up` was killed half-way is removed by `down`, and as well by the next `up`.
func TestNothingStaysBehindAKilledUp(t *testing.T) {
	h := newHost(t)
	for _, machines := range []int{1, 2, 4} {
		h.killUpAfter(machines)
		h.localkube("down")
		h.assertNothingLeft()
	}

	h.killUpAfter(3)
	h.localkube("up", "--nodes", "0")
	h.kubectl("get", "serviceaccount", "default")

	// A control plane that was killed is no reason to refuse a new start.
	entry, alive, err := ledger.Ledger{Path: h.layout.Ledger()}.Find(layout.ControlPlane)
	if err != nil || !alive {
		t.Fatalf("find the control plane: %v %v", alive, err)
	}
	if err := entry.Kill(); err != nil {
		t.Fatal(err)
	}
	h.localkube("up", "--nodes", "0")
	h.localkube("down")
	h.assertNothingLeft()
}

// killUpAfter starts `up` and kills it when so many machines have been recorded.
func (h host) killUpAfter(machines int) {
	h.Helper()
	up := exec.Command(h.program, "up")
	if err := up.Start(); err != nil {
		h.Fatal(err)
	}
	h.eventually(func() string {
		entries, err := ledger.Ledger{Path: h.layout.Ledger()}.Entries()
		if err == nil && len(entries) >= machines {
			return ""
		}
		return fmt.Sprintf("%d machines started: %v", len(entries), err)
	})
	if err := up.Process.Kill(); err != nil {
		h.Fatal(err)
	}
	state, err := up.Process.Wait()
	if err != nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		h.Fatalf("up ended by itself: %v %v", state, err)
	}
}
