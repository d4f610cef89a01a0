package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"valkey.gomomento.com/operator/testscripts/localkube/hostnet"
	"valkey.gomomento.com/operator/testscripts/localkube/ledger"
	"valkey.gomomento.com/operator/testscripts/localkube/machine"
)

// start makes the first process of a machine. That process waits for its configuration, and gets it
// only when it is in the ledger and has its cable. Should this process die in between, the machine ends by itself.
func (c Cluster) start(config machine.Config) error {
	if err := c.startWithPipe(config); err != nil {
		return fmt.Errorf("start %s: %w", config.Name, err)
	}
	return nil
}

func (c Cluster) startWithPipe(config machine.Config) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	process, err := c.spawn(config.Name, read)
	if err := errors.Join(err, read.Close()); err != nil {
		return errors.Join(err, write.Close())
	}
	if err := c.admit(config, process.Pid); err != nil {
		return errors.Join(err, write.Close())
	}
	return errors.Join(json.NewEncoder(write).Encode(config), write.Close(), process.Release())
}

func (c Cluster) admit(config machine.Config, pid int) error {
	entry, err := ledger.Describe(config.Name, pid)
	if err != nil {
		return err
	}
	if err := c.ledger().Add(entry); err != nil {
		return err
	}
	if config.Seed() {
		return nil
	}
	return hostnet.Connect(c.Layout, config.Name, config.Index, pid)
}

// spawn runs this program again as the first process of new namespaces and of a session of its own, so that neither the
// end nor the terminal of this process matters to it.
func (c Cluster) spawn(name string, config *os.File) (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := c.makeDisk(name); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(c.Layout.Machine(name), "machine.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	command := exec.Command(self, machine.Command)
	command.Env = []string{"PATH=/usr/sbin:/usr/bin"}
	command.Dir = "/"
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{config} // descriptor 3, as machine.ConfigDescriptor says
	command.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS |
			syscall.CLONE_NEWIPC,
	}
	err = command.Start()
	return command.Process, errors.Join(err, log.Close())
}
