package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lookAgain is how often a condition is checked: short, since its bars are seconds.
const lookAgain = 50 * time.Millisecond

// within asks until it gets no error, and returns the last one when time is up.
func within(ctx context.Context, limit time.Duration, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, err)
		case <-time.After(lookAgain):
		}
	}
}

// command runs a program and returns its standard output.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

const (
	// operatorUID is the operator's user where the tests run as root; nobody else on a machine for tests has it.
	operatorUID = 62999
	// capDACReadSearch is CAP_DAC_READ_SEARCH of Linux: to read every file, the kubeconfig of localkube among them.
	capDACReadSearch = 2
)

// An operatorProcess is the operator, run on this machine.
type operatorProcess struct {
	binary string
	cmd    *exec.Cmd
	log    *os.File
	// metrics is the address of its metrics, chosen at its first start: suites on two clusters may run side by side.
	metrics string
}

func (o *operatorProcess) start() error {
	if o.log == nil {
		log, err := os.CreateTemp("", "operator-*.log")
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "the operator's log is", log.Name())
		o.log = log
		if o.metrics, err = freeAddress(); err != nil {
			return err
		}
	}
	binary, err := os.Open(o.binary)
	if err != nil {
		return fmt.Errorf("start the operator (run `make build`): %w", err)
	}
	defer binary.Close()
	// Its user may not be allowed to look into the directories above it.
	o.cmd = exec.Command("/proc/self/fd/3", "run", "--leader-elect=false",
		"--metrics-bind-address="+o.metrics, "--health-probe-bind-address=127.0.0.1:0")
	o.cmd.Args[0] = o.binary
	o.cmd.Stdout, o.cmd.Stderr, o.cmd.ExtraFiles = o.log, o.log, []*os.File{binary}
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		// A user of its own lets the network tell its packets from the clients'; it reads what root may.
		o.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: operatorUID}
		o.cmd.SysProcAttr.AmbientCaps = []uintptr{capDACReadSearch}
	}
	if err := o.cmd.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	return nil
}

// freeAddress is an address of this machine where nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// kill ends the operator as a crash would, with SIGKILL.
func (o *operatorProcess) kill() {
	if o == nil || o.cmd == nil {
		return
	}
	if err := o.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		fmt.Fprintln(os.Stderr, "kill the operator:", err)
	}
	var ended *exec.ExitError
	if err := o.cmd.Wait(); err != nil && !errors.As(err, &ended) {
		fmt.Fprintln(os.Stderr, "wait for the operator:", err)
	}
	o.cmd = nil
}
