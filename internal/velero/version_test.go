package velero

import "testing"

func TestParseVersion(t *testing.T) {
	for tag, want := range map[string]Version{
		"v1.18.3": {1, 18, 3}, "1.18.3": {1, 18, 3}, "v1.14.1_vmware.3": {1, 14, 1}, "v1.16": {1, 16, 0},
		"1.17.0-rc.1": {1, 17, 0}, "v1.16.2-linux-amd64": {1, 16, 2}, "v1.18.3+build.1": {1, 18, 3}, "1.18": {1, 18, 0},
		"v2.0.0": {2, 0, 0}, "v1.14-oadp-1.4": {1, 14, 0},
	} {
		if got, ok := ParseVersion(tag); !ok || got != want {
			t.Errorf("%s: %v, %v; want %v", tag, got, ok, want)
		}
	}
	for _, tag := range []string{
		"", "main", "latest", "v1", "1.5", "1.5.0", "1.4.1-2", "v1.5.0", "oadp-1.5", "4.19.0", "2026.11.1", "v1.18.x", "sha256-abc", "v1.2.3.4.5/6", "v99999.1.1", "v-1.2.3", "v1..2", " v1.2.3",
		"20240101.1.2", "1.5.0@sha256:0",
	} {
		if got, ok := ParseVersion(tag); ok {
			t.Errorf("%q is read as %v", tag, got)
		}
	}
}
