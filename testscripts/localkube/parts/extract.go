package parts

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// superfluous are the paths of a package that no server and no library needs.
var superfluous = []string{
	"usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/bash-completion/", "usr/share/lintian/",
	"usr/share/bug/", "usr/lib/systemd/", "usr/lib/init/", "etc/init.d/", "etc/logrotate.d/", "etc/apparmor.d/",
}

// extract unpacks a Debian package into a directory. Packages that still have /bin, /lib and their like land in /usr, too.
func extract(archive, root string) error {
	command := exec.Command("dpkg-deb", "--fsys-tarfile", archive)
	stream, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = extractTar(tar.NewReader(stream), root)
	_, drain := io.Copy(io.Discard, stream)
	return errors.Join(err, drain, command.Wait())
}

func extractTar(files *tar.Reader, root string) error {
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractFile(files, header, root); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func extractFile(files *tar.Reader, header *tar.Header, root string) error {
	name := intoUsr(header.Name)
	if unwanted(name) {
		return nil
	}
	target := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(target, 0o755)
	case tar.TypeSymlink:
		return replace(target, func() error { return os.Symlink(header.Linkname, target) })
	case tar.TypeLink:
		return replace(target, func() error { return os.Link(filepath.Join(root, intoUsr(header.Linkname)), target) })
	case tar.TypeReg:
		return replace(target, func() error { return writeFile(target, files, header.FileInfo().Mode().Perm()) })
	}
	return nil
}

// intoUsr cleans a path, keeps it inside the root and moves the old top-level directories into /usr.
func intoUsr(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	top, _, _ := strings.Cut(name, "/")
	switch top {
	case "bin", "sbin", "lib", "lib64":
		return "usr/" + name
	}
	return name
}

func unwanted(name string) bool {
	for _, prefix := range superfluous {
		if strings.HasPrefix(name+"/", prefix) {
			return true
		}
	}
	return strings.Contains(name, "/gconv/")
}

func replace(target string, make func() error) error {
	return errors.Join(os.RemoveAll(target), make())
}

func writeFile(target string, content io.Reader, mode os.FileMode) error {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
