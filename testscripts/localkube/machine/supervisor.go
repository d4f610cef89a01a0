package machine

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// restartPause keeps a component that cannot start from taking all of the CPU.
const restartPause = 500 * time.Millisecond

// memoryForTime lets the components, all of them Go programs, collect garbage less often: starting a pod takes a quarter less
// CPU, which two cores feel, for some 300 MB more memory in all.
const memoryForTime = "GOGC=400"

// supervisor starts processes and waits for all that end. It does not use os/exec, whose Wait would compete with the
// reaping that a first process owes to orphans.
type supervisor struct {
	layoutBin string
	logs      string
	mu        sync.Mutex
	running   map[int]chan syscall.WaitStatus
}

func newSupervisor(c Config) *supervisor {
	return &supervisor{
		layoutBin: c.Layout.Bin(),
		logs:      filepath.Join(c.Layout.Machine(c.Name), "log"),
		running:   map[int]chan syscall.WaitStatus{},
	}
}

// reap collects the status of every child for ever.
func (s *supervisor) reap() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for range ended {
		for s.reapOne() {
			continue
		}
	}
}

func (s *supervisor) reapOne() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if err != nil || pid <= 0 {
		return errors.Is(err, syscall.EINTR)
	}
	if waiting, ours := s.running[pid]; ours {
		delete(s.running, pid)
		waiting <- status
	}
	return true
}

// keep runs a component and starts it again whenever it ends. Its output goes to a log of its name.
func (s *supervisor) keep(name string, args ...string) {
	go func() {
		for {
			err := s.run(name, name, args...)
			fmt.Fprintf(os.Stderr, "%s ended: %v\n", name, err)
			time.Sleep(restartPause)
		}
	}()
}

// run starts a program of the bin directory, waits for its end and reports an exit code other than 0.
func (s *supervisor) run(log, program string, args ...string) error {
	status, err := s.start(log, program, args)
	if err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	if st := <-status; st != 0 {
		return fmt.Errorf("%s: exit code %d, signal %d; see %s", program, st.ExitStatus(), st.Signal(), s.logFile(log))
	}
	return nil
}

func (s *supervisor) logFile(log string) string { return filepath.Join(s.logs, log+".log") }

func (s *supervisor) start(log, program string, args []string) (<-chan syscall.WaitStatus, error) {
	if err := os.MkdirAll(s.logs, 0o755); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(s.logFile(log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(filepath.Join(s.layoutBin, program), append([]string{program}, args...), &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=" + s.layoutBin + ":/usr/sbin:/usr/bin", "HOME=/root", memoryForTime},
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	s.running[pid] = ended
	return ended, nil
}
