package image

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// File is one entry of a layer.
type File struct {
	Path     string // as in the container; a leading slash makes no difference
	Mode     fs.FileMode
	UID, GID int
	data     []byte // of a regular file, unless source is set
	source   string // host file to copy
	link     string // target of a symbolic link
}

// Data is a regular file with this content.
func Data(path string, data []byte, mode fs.FileMode) File {
	return File{Path: path, Mode: mode, data: data}
}

// Copy is a regular file with the content of a file of the host.
func Copy(path, source string, mode fs.FileMode) File {
	return File{Path: path, Mode: mode, source: source}
}

// Directory is a directory of that owner. The mode may hold fs.ModeSticky.
func Directory(path string, mode fs.FileMode, uid, gid int) File {
	return File{Path: path, Mode: fs.ModeDir | mode, UID: uid, GID: gid}
}

// Link is a symbolic link.
func Link(path, target string) File {
	return File{Path: path, Mode: fs.ModeSymlink | 0o777, link: target}
}

// Tree is everything below a directory of the host, owned by root.
func Tree(root string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		f := File{Path: strings.TrimPrefix(file, root), Mode: info.Mode(), source: file}
		if info.Mode().Type() == fs.ModeSymlink {
			f.link, err = os.Readlink(file)
		}
		files = append(files, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", root, err)
	}
	return files, nil
}

// Parents are the directories that lead to a path, the outermost first, as root has them.
func Parents(name string) []File {
	dir := path.Dir(path.Clean("/" + name))
	if dir == "/" {
		return nil
	}
	return append(Parents(dir), Directory(dir, 0o755, 0, 0))
}

func (f File) write(archive *tar.Writer) error {
	header := &tar.Header{
		Name: strings.TrimPrefix(f.Path, "/"), Linkname: f.link, Mode: int64(f.Mode.Perm()),
		Uid: f.UID, Gid: f.GID, Format: tar.FormatGNU,
	}
	if f.Mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000
	}
	switch f.Mode.Type() {
	case fs.ModeDir:
		header.Typeflag = tar.TypeDir
		header.Name += "/"
		return archive.WriteHeader(header)
	case fs.ModeSymlink:
		header.Typeflag = tar.TypeSymlink
		return archive.WriteHeader(header)
	}
	return f.writeContent(archive, header)
}

func (f File) writeContent(archive *tar.Writer, header *tar.Header) error {
	header.Typeflag = tar.TypeReg
	if f.source == "" {
		header.Size = int64(len(f.data))
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := archive.Write(f.data)
		return err
	}
	file, err := os.Open(f.source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}
