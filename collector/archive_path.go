package collector

import (
	"bytes"
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	errEscapes = errors.New("path leaves the archive")
	errOddName = errors.New("path is not printable UTF-8")
)

// place is where an item lies in a backup: resources/RESOURCE/cluster/NAME.json or
// resources/RESOURCE/namespaces/NAMESPACE/NAME.json (pkg/archive/parser.go).
type place struct {
	resource, namespace, name []byte
	named                     bool // the file is called NAME.json
}

func (p place) isItem() bool { return p.named && len(p.name) > 0 && len(p.resource) > 0 }

var (
	resourcesDir   = []byte("resources")
	resourcesSlash = []byte("resources/")
	clusterDir     = []byte("cluster")
	namespacesDir  = []byte("namespaces")
	jsonSuffix     = []byte(".json")
	slash          = []byte("/")
)

// placeOf says which item a path stands for, if any. Paths of version directories, of other depth,
// or outside resources/ are no items: Velero does not look at them.
func placeOf(p []byte) (at place, ok bool) {
	top, rest, ok := bytes.Cut(p, slash)
	if !ok || !bytes.Equal(top, resourcesDir) {
		return at, false
	}
	if at.resource, rest, ok = bytes.Cut(rest, slash); !ok {
		return at, false
	}
	scope, rest, ok := bytes.Cut(rest, slash)
	if !ok {
		return at, false
	}
	switch {
	case bytes.Equal(scope, clusterDir):
	case bytes.Equal(scope, namespacesDir):
		if at.namespace, rest, ok = bytes.Cut(rest, slash); !ok {
			return at, false
		}
	default:
		return at, false
	}
	if bytes.IndexByte(rest, '/') >= 0 {
		return at, false
	}
	at.name, at.named = bytes.CutSuffix(rest, jsonSuffix)
	return at, true
}

// preferredSuffix marks the directory of the API version that the server
// preferred when it was backed up (pkg/archive/parser.go).
const preferredSuffix = "-preferredversion"

// atVersion notes the API version of resources/RESOURCE/VERSION[-preferredversion]/...
func (b *builder) atVersion(p []byte) {
	rest, ok := bytes.CutPrefix(p, resourcesSlash)
	if !ok {
		return
	}
	if n := len(b.lastVersioned); n > 0 && len(rest) > n && rest[n] == '/' && bytes.Equal(rest[:n], b.lastVersioned) {
		return
	}
	resource, below, ok := bytes.Cut(rest, slash)
	if !ok || len(resource) == 0 {
		return
	}
	dir, _, ok := bytes.Cut(below, slash)
	if !ok || len(dir) == 0 || bytes.Equal(dir, clusterDir) || bytes.Equal(dir, namespacesDir) {
		return
	}
	b.lastVersioned = append(b.lastVersioned[:0], rest[:len(resource)+1+len(dir)]...)
	version, preferred := bytes.CutSuffix(dir, []byte(preferredSuffix))
	b.addVersion(resource, version, preferred)
}

// cleanPath makes an entry's name relative, as Velero does (pkg/archive/extractor.go).
func cleanPath(name []byte) ([]byte, error) {
	if !printable(name) {
		return nil, errOddName
	}
	if isClean(name) {
		return name, nil
	}
	relative := path.Clean(strings.TrimLeft(string(name), "/"))
	if relative == ".." || strings.HasPrefix(relative, "../") {
		return nil, errEscapes
	}
	return []byte(relative), nil
}

// isClean says whether path.Clean would change nothing, quickly.
func isClean(name []byte) bool {
	start := true
	for i, c := range name {
		if start && (c == '/' || c == '.' && (i+1 == len(name) || name[i+1] == '/' || name[i+1] == '.')) {
			return false
		}
		start = c == '/'
	}
	return !start
}

func printable(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c >= 0x7f {
			return utf8.Valid(name) && !bytes.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
		}
	}
	return true
}
