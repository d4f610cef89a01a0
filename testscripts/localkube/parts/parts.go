// Package parts makes everything that a cluster is built of and keeps it in the cache: the Kubernetes components from their
// Go modules, Valkey and a few tools from Debian packages, and container images of them. A part is made again only when
// what it is made from has changed. It must not install anything on the host.
package parts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

// heartbeat is how often a part that takes minutes says that it is still being made.
const heartbeat = 15 * time.Second

// part is one thing to make. key holds all that decides about its content.
type part struct {
	name string
	key  func() ([]byte, error)
	make func() error
	// products are the files that tell that the part is there, should the cache have been emptied by hand.
	products []string
}

// Builder makes the parts of one cache.
type Builder struct {
	Layout   layout.Layout
	Source   string    // directory of this module
	Progress io.Writer // a line for each step that takes time
}

// Build makes what is missing or out of date.
func (b Builder) Build() error {
	for _, dir := range []string{b.Layout.Bin(), b.Layout.Images(), b.Layout.Stamps()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the cache: %w", err)
		}
	}
	all := slices.Concat(b.debianParts(), b.goParts(), b.imageParts())
	for i, p := range all {
		if err := b.ensure(p, fmt.Sprintf("%s (%d/%d)", p.name, i+1, len(all))); err != nil {
			return fmt.Errorf("make %s: %w", p.name, err)
		}
	}
	return nil
}

func (b Builder) ensure(p part, title string) error {
	key, err := p.key()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(key)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(b.Layout.Stamps(), p.name)
	if fresh, err := p.fresh(stamp, want); fresh || err != nil {
		return err
	}
	stop := b.announce(title)
	err = p.make()
	stop()
	if err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(want), 0o644)
}

func (p part) fresh(stamp, want string) (bool, error) {
	for _, product := range p.products {
		if _, err := os.Stat(product); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	have, err := os.ReadFile(stamp)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return string(have) == want, err
}

// announce says what is being made, now and then again, and how long it took once the returned function is called.
func (b Builder) announce(title string) func() {
	start := time.Now()
	done, ended := make(chan struct{}), make(chan struct{})
	fmt.Fprintf(b.Progress, "making %s …\n", title)
	go func() {
		defer close(ended)
		ticks := time.NewTicker(heartbeat)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				fmt.Fprintf(b.Progress, "making %s … %3.0f s\n", title, time.Since(start).Seconds())
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		fmt.Fprintf(b.Progress, "made %s in %.1f s\n", title, time.Since(start).Seconds())
	}
}
