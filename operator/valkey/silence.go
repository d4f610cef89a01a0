package valkey

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	valkeygo "github.com/valkey-io/valkey-go"

	"valkey.gomomento.com/operator/engine"
)

// The words for why a server is not heard.
const (
	SilenceRefused         = engine.SilenceRefused // nobody listens at its address
	SilenceTimeout         = "timeout"             // no answer in time
	SilenceUnauthenticated = "unauthenticated"     // it does not accept the operator's password
	SilenceLost            = "connection lost"     // the connection broke under the question
	SilenceExpired         = "certificate expired or not valid yet"
)

// Silence is the word for an error of Ask or Do: one of the constants above, or
// a text without the addresses that would make it new on every try. It is ""
// for no error.
func Silence(err error) string {
	var timeout net.Error
	var number syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return SilenceRefused
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return SilenceTimeout
	case unauthenticated(err):
		return SilenceUnauthenticated
	case lost(err):
		return SilenceLost
	case expired(err):
		return SilenceExpired
	case errors.As(err, &number):
		return number.Error()
	}
	return err.Error()
}

func unauthenticated(err error) bool {
	said := refusal(err)
	return strings.HasPrefix(said, "WRONGPASS") || strings.HasPrefix(said, "NOAUTH")
}

// refusal is the text of a server's error reply, "" for any other error.
func refusal(err error) string {
	var said *valkeygo.ValkeyError
	if !errors.As(err, &said) || said.IsNil() {
		return ""
	}
	return said.Error()
}

// expired says that a certificate is shown out of its time; the library's text holds the time of day.
func expired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

func lost(err error) bool {
	for _, loss := range []error{errBroken, io.EOF, net.ErrClosed, valkeygo.ErrClosing, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, loss) {
			return true
		}
	}
	return false
}
