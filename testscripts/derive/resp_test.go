package derive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// conn speaks RESP2 to a server: enough for the scenarios, and independent of
// the client that the operator uses.
type conn struct {
	net net.Conn
	in  *bufio.Reader
}

func dial(address string) (*conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return &conn{c, bufio.NewReader(c)}, c.SetDeadline(time.Now().Add(startTimeout))
}

func (c *conn) close() { c.net.Close() }

// do sends a command; an array's elements come back a line each.
func (c *conn) do(args ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c.net, b.String()); err != nil {
		return "", fmt.Errorf("send %s: %w", args[0], err)
	}
	return c.reply()
}

func (c *conn) reply() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read a reply: %w", err)
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '-':
		return "", errors.New(line[1:])
	case '$':
		return c.bulk(line[1:])
	case '*':
		return c.array(line[1:])
	default:
		return line[1:], nil
	}
}

func (c *conn) bulk(length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return "", err
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return "", fmt.Errorf("read a reply: %w", err)
	}
	return string(b[:n]), nil
}

func (c *conn) array(length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil {
		return "", err
	}
	elements := make([]string, 0, max(n, 0))
	for range n {
		e, err := c.reply()
		if err != nil {
			return "", err
		}
		elements = append(elements, e)
	}
	return strings.Join(elements, "\n"), nil
}
