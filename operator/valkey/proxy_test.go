package valkey_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A proxy stands between a pool and a server.
type proxy struct {
	address string
	target  string
	// requests counts the packets from client to server, connections the connections.
	requests, connections atomic.Int64
	// deaf, while held, keeps what comes from the client.
	deaf sync.Mutex

	mu   sync.Mutex
	open []net.Conn
}

// newProxy listens on a port of its own.
func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), target: target}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		p.cut(t)
	})
	go p.serve(t, l)
	return p
}

func (p *proxy) serve(t *testing.T, l net.Listener) {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		p.connections.Add(1)
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			t.Error(err)
			return
		}
		p.mu.Lock()
		p.open = append(p.open, client, server)
		p.mu.Unlock()
		go p.upstream(client, server)
		go io.Copy(client, server) //nolint:errcheck // it ends when the proxy is cut
	}
}

func (p *proxy) upstream(client, server net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			server.Close() // an error says that the proxy was cut
			return
		}
		p.requests.Add(1)
		p.deaf.Lock()
		_, err = server.Write(buffer[:n])
		p.deaf.Unlock()
		if err != nil {
			return
		}
	}
}

// cut closes all connections.
func (p *proxy) cut(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	p.open = nil
}
