package safefile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links lead to one file at most.
const maxLinks = 40

// ReadTrusted reads at most limit bytes of a file that says what the program does. As ssh does,
// it refuses one that others could have written or replaced: the file, and each link that leads
// to it, must belong to the user or to root, and lie in a directory of one of them; nobody else
// may write to either. Nobody else can replace a file in a directory with the sticky bit, or that
// is mounted read-only.
func ReadTrusted(path string, limit int64) ([]byte, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return readTrusted(path, info, limit)
		}
		if who, known := ownerOf(info); known && !isTrusted(who) {
			return nil, foreign(path, who)
		}
		if err := trustedDir(parent(path)); err != nil {
			return nil, err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(target) {
			target = parent(path) + string(filepath.Separator) + target
		}
		path = target
	}
	return nil, &Error{path, "is one of too many symbolic links", ""}
}

// readTrusted reads a file that is no link.
func readTrusted(path string, info fs.FileInfo, limit int64) ([]byte, error) {
	if err := regular(path, info); err != nil {
		return nil, err
	}
	// Both at once, so that the answer to the second is not another error.
	if err := errors.Join(trustedDir(parent(path)), unshared(path, info, isTrusted)); err != nil {
		return nil, err
	}
	file, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if err := unshared(path, info, isTrusted); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// trustedDir checks the directory that a path leads to.
func trustedDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSticky != 0 || isReadOnly(path) {
		if who, known := ownerOf(info); known && isTrusted(who) {
			return nil
		}
	}
	return unshared(path, info, isTrusted)
}

// isTrusted reports whether a user may say what the program does.
func isTrusted(user int) bool { return user == 0 || user == os.Geteuid() }

// parent returns the directory of a path as it stands there: after a symbolic link,
// ".." is not the directory before it.
func parent(path string) string {
	dir, _ := filepath.Split(path)
	return cmp.Or(strings.TrimRight(dir, string(filepath.Separator)), dir, ".")
}
