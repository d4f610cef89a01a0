package apiserver

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when the test ends without stopping it.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
