// Command page writes the figures of measured scenarios into a document: page RECORD DOCUMENT.
package main

import (
	"errors"
	"fmt"
	"os"

	"valkey.gomomento.com/operator/testscripts/figures"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: page RECORD DOCUMENT")
	}
	all, err := figures.Read(args[0])
	if err != nil {
		return err
	}
	document, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	written, err := figures.Render(string(document), all)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], []byte(written), 0o644)
}
