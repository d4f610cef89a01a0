package parts

import "testing"

func TestOnlyArchivesAreReadFromAptsList(t *testing.T) {
	cases := map[string]struct {
		line, name, version string
		ok                  bool
	}{
		"an archive":              {"'http://mirror/pool/v/x.deb' valkey-server_9.1.2-1_amd64.deb 64640 SHA256:ab", "valkey-server", "9.1.2-1", true},
		"an epoch is escaped":     {"'http://mirror/z.deb' zlib1g_1%3a1.3.1-1_amd64.deb 92424 SHA256:ab", "zlib1g", "1:1.3.1-1", true},
		"what apt tells a person": {"The following NEW packages will be installed:", "", "", false},
		"an empty line":           {"", "", "", false},
	}
	for title, c := range cases {
		name, version, ok := parseURI(c.line)
		if name != c.name || version != c.version || ok != c.ok {
			t.Errorf("%s: %q %q %v", title, name, version, ok)
		}
	}
}

func TestProgramsAndTheirLibrariesAreNeeded(t *testing.T) {
	asked := []string{"valkey-server/bookworm-backports"}
	cases := map[string]bool{
		"valkey-server": true, "libc6": true, "zlib1g": true,
		"systemd": false, "adduser": false, "libperl5.36": false, "libsystemd-shared": false,
	}
	for name, want := range cases {
		if needed(name, asked) != want {
			t.Errorf("needed(%s) is not %v", name, want)
		}
	}
}

func TestPathsOfAPackageStayInsideTheRoot(t *testing.T) {
	cases := map[string]string{
		"./bin/busybox":            "usr/bin/busybox",
		"./lib64/ld-linux.so.2":    "usr/lib64/ld-linux.so.2",
		"./usr/bin/valkey-server":  "usr/bin/valkey-server",
		"./etc/valkey/valkey.conf": "etc/valkey/valkey.conf",
		"../../etc/passwd":         "etc/passwd",
	}
	for name, want := range cases {
		if got := intoUsr(name); got != want {
			t.Errorf("intoUsr(%s) = %s, want %s", name, got, want)
		}
	}
}
