package job

import (
	"fmt"
	"slices"
	"strings"
)

// Version is a version of Velero: major, minor, patch.
type Version [3]int

// ParseVersion reads a tag such as v1.18.3 or 1.17.0-rc.1; ok is false for tags
// that tell no version, such as main or a digest.
func ParseVersion(tag string) (v Version, ok bool) {
	n, err := fmt.Sscanf(strings.TrimPrefix(tag, "v"), "%d.%d.%d", &v[0], &v[1], &v[2])
	return v, n >= 2 || err == nil
}

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

func (v Version) String() string { return fmt.Sprintf("v%d.%d.%d", v[0], v[1], v[2]) }

// CancelsPodVolumes reports whether pod volume backups and restores can be
// cancelled: they have spec.cancel since 1.17.
func (v Version) CancelsPodVolumes() bool { return !v.Before(Version{1, 17, 0}) }

// HangsOnCancelledVolume reports whether a backup waits for a cancelled pod
// volume backup up to its time-out (Velero issue 9464, from 1.17.0 until
// 1.18.3; pkg/podvolume/backupper.go).
func (v Version) HangsOnCancelledVolume() bool {
	return v.CancelsPodVolumes() && v.Before(Version{1, 18, 3})
}

// before reports whether the tag is of a version older than major.minor.patch;
// false if the tag tells none.
func before(tag string, major, minor, patch int) bool {
	v, ok := ParseVersion(tag)
	return ok && v.Before(Version{major, minor, patch})
}
