package apiserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// process is a program that runs until it is stopped.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan error
}

// launch starts the program with its output in dir. It ends with the test, also when the test is killed (see dieWithParent).
func launch(dir, binary string, flags []string) (*process, error) {
	name := filepath.Base(binary)
	log := filepath.Join(dir, name+".log")
	output, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, log: log, cmd: exec.Command(binary, flags...), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = output, output
	dieWithParent(p.cmd)
	err = p.cmd.Start()
	if err := errors.Join(err, output.Close()); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// ended is nil while the process runs, and else says why it does not.
func (p *process) ended() error {
	select {
	case err := <-p.done:
		p.done <- err
		text, readErr := os.ReadFile(p.log)
		return errors.Join(fmt.Errorf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, tail(text)), readErr)
	default:
		return nil
	}
}

func (p *process) stop() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case ended := <-p.done: // killed on purpose: how it ended says nothing
		p.done <- ended
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("stop %s: still there %v after SIGKILL", p.name, stopTimeout)
	}
}

// tail is the end of a log, where the reason is.
func tail(text []byte) []byte {
	const most = 2000
	return text[max(0, len(text)-most):]
}
