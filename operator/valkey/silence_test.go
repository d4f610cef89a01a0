package valkey_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"valkey.gomomento.com/operator/operator/valkey"
)

func TestSilenceIsAWordThatDoesNotChangeFromPassToPass(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("server of n: %w", &net.OpError{Op: "dial", Addr: &net.TCPAddr{Port: 40000}, Err: os.NewSyscallError("connect", err)})
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no error":          {nil, ""},
		"refused":           {dial(syscall.ECONNREFUSED), valkey.SilenceRefused},
		"no route":          {dial(syscall.EHOSTUNREACH), "no route to host"},
		"kernel's timeout":  {dial(syscall.ETIMEDOUT), valkey.SilenceTimeout},
		"context's timeout": {fmt.Errorf("x: %w", context.DeadlineExceeded), valkey.SilenceTimeout},
		"reset":             {dial(syscall.ECONNRESET), valkey.SilenceLost},
		"closed":            {net.ErrClosed, valkey.SilenceLost},
		"expired":           {fmt.Errorf("x: %w", x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time is 12:00"}), valkey.SilenceExpired},
		"anything else":     {errors.New("tls: unknown authority"), "tls: unknown authority"},
	} {
		if got := valkey.Silence(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
