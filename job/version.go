package job

import (
	"fmt"
	"strings"
)

// version reads a tag such as v1.18.3 or 1.17.0-rc.1; ok is false for tags
// that tell no version, such as main or a digest.
func version(tag string) (v [3]int, ok bool) {
	n, err := fmt.Sscanf(strings.TrimPrefix(tag, "v"), "%d.%d.%d", &v[0], &v[1], &v[2])
	return v, n >= 2 || err == nil
}

// before reports whether the tag is of a version older than major.minor.patch;
// false if the tag tells none.
func before(tag string, want ...int) bool {
	v, ok := version(tag)
	if !ok {
		return false
	}
	for i, n := range want {
		if v[i] != n {
			return v[i] < n
		}
	}
	return false
}
