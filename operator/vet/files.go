package vet

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A File is a file of manifests.
type File struct {
	Name    string
	Content []byte
}

// stdinName stands for standard input in places.
const stdinName = "<stdin>"

// Read reads files; of a directory all *.yaml, *.yml and *.json in it and below, but for what is hidden; "-" is standard
// input. Each is read once, however often it is named.
func Read(names []string, stdin io.Reader) ([]File, error) {
	var paths []string
	for _, name := range names {
		found, err := expand(name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	var files []File
	seen := map[string]bool{}
	for _, path := range paths {
		if seen[path] {
			continue
		}
		seen[path] = true
		file, err := read(path, stdin)
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

func read(path string, stdin io.Reader) (file File, err error) {
	if path == "-" {
		file.Name = stdinName
		file.Content, err = io.ReadAll(stdin)
		return file, err
	}
	file.Name = path
	file.Content, err = os.ReadFile(path)
	return file, err
}

// expand is a file itself, or the manifests of a directory.
func expand(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	var found []string
	root := filepath.Clean(name)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == root && !entry.IsDir():
			found = append(found, path)
		case path != root && strings.HasPrefix(entry.Name(), "."):
			return skip(entry)
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find manifests: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find manifests: no *.yaml, *.yml or *.json in directory %s", name)
	}
	return found, nil
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}
