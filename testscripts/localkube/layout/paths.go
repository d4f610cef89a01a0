package layout

import "path/filepath"

// Bin is the directory of the built programs.
func (l Layout) Bin() string { return filepath.Join(l.Cache, "bin") }

// Program is the path of a built program.
func (l Layout) Program(name string) string { return filepath.Join(l.Bin(), name) }

// Rootfs is an unpacked set of Debian packages.
func (l Layout) Rootfs(name string) string { return filepath.Join(l.Cache, "rootfs", name) }

// Images is the directory of the image archives that every node imports when it starts.
func (l Layout) Images() string { return filepath.Join(l.Cache, "images") }

// Seed is a node's containerd directory with all images unpacked; every new node starts with a copy.
func (l Layout) Seed() string { return filepath.Join(l.Cache, "seed") }

// Versions is the file that lists the Valkey versions at hand, newest first, one `minor exact` pair a line.
func (l Layout) Versions() string { return filepath.Join(l.Cache, "versions") }

// Stamps is the directory of what each part was last built from.
func (l Layout) Stamps() string { return filepath.Join(l.Cache, "stamps") }

// Kubeconfig is the administrator's access to the cluster.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State, "kubeconfig") }

// Ledger is the file of the processes that up has started.
func (l Layout) Ledger() string { return filepath.Join(l.State, "machines") }

// Ready is the file that says that up went through; it holds the number of nodes.
func (l Layout) Ready() string { return filepath.Join(l.State, "ready") }

// PKI is the directory of certificates, keys and kubeconfigs.
func (l Layout) PKI() string { return filepath.Join(l.State, "pki") }

// Machine is the directory that is a machine's disk: it outlives a crash of the machine.
func (l Layout) Machine(name string) string { return filepath.Join(l.State, name) }
