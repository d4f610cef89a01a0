package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"valkey.gomomento.com/operator/testscripts/localkube/image"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/parts"
)

const modulePath = "valkey.gomomento.com/operator/testscripts/localkube"

func buildCommand() *cobra.Command {
	var source string
	command := &cobra.Command{
		Use:   "build",
		Short: "Make everything that `up` needs, as far as it is missing or out of date",
		Args:  cobra.NoArgs,
	}
	command.Flags().StringVar(&source, "source", "", "directory of localkube's module (found from the working directory)")
	command.RunE = func(c *cobra.Command, _ []string) error {
		l, err := layout.FromEnvironment()
		if err != nil {
			return err
		}
		if source == "" {
			if source, err = findSource(); err != nil {
				return err
			}
		}
		return parts.Builder{Layout: l, Source: source, Progress: c.ErrOrStderr()}.Build()
	}
	return command
}

// findSource looks for this module in the working directory and those above it.
func findSource() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find localkube's source: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		for _, candidate := range []string{dir, filepath.Join(dir, "testscripts", "localkube")} {
			data, err := os.ReadFile(filepath.Join(candidate, "go.mod"))
			if err == nil && strings.HasPrefix(string(data), "module "+modulePath+"\n") {
				return candidate, nil
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("find localkube's source: %w", err)
			}
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no directory of module %s at or above %s; name it with --source", modulePath, start)
		}
	}
}

func imageCommand() *cobra.Command {
	var files, entrypoint []string
	var user string
	command := &cobra.Command{
		Use:   "image OUT.tar NAME:TAG",
		Short: "Make an image of nothing but the given files",
		Args:  cobra.ExactArgs(2),
	}
	command.Flags().StringArrayVar(&files, "file", nil, "`SOURCE=/PATH` of a file to put into the image; may be repeated")
	command.Flags().StringSliceVar(&entrypoint, "entrypoint", nil, "command of the container, separated by commas")
	command.Flags().StringVar(&user, "user", "65532:65532", "uid or uid:gid of the container's process")
	command.RunE = func(_ *cobra.Command, args []string) error {
		made := image.Image{Tags: []string{args[1]}, Entrypoint: entrypoint, User: user, Directory: "/"}
		for _, file := range files {
			added, err := fileOf(file)
			if err != nil {
				return err
			}
			made.Files = append(made.Files, added...)
		}
		return made.Write(args[0])
	}
	return command
}

// fileOf reads SOURCE=/PATH and adds the directories that lead there. The mode follows the source's.
func fileOf(flag string) ([]image.File, error) {
	source, path, ok := strings.Cut(flag, "=")
	if !ok || !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("--file must be SOURCE=/PATH, not %q", flag)
	}
	info, err := os.Stat(source)
	if err != nil {
		return nil, fmt.Errorf("add %s: %w", flag, err)
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	return append(image.Parents(path), image.Copy(path, source, mode)), nil
}

func versionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "versions",
		Short: "List the Valkey versions that the nodes have: minor, exact, image",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := layout.FromEnvironment()
			if err != nil {
				return err
			}
			versions, err := parts.Versions(l)
			for _, v := range versions {
				fmt.Fprintln(c.OutOrStdout(), v.Minor, v.Exact, v.Image())
			}
			return err
		},
	}
}
