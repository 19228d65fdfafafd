package safefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/veltui/veltui/internal/kubectl"
)

// Error says what is wrong with a file and which command mends it.
type Error struct {
	Path    string
	Problem string
	// Mend is a shell command, empty if none helps.
	Mend string
}

func (e *Error) Error() string {
	text := e.Path + " " + e.Problem
	if e.Mend != "" {
		text += "; run: " + e.Mend
	}
	return text
}

var ErrLocked = errors.New("another process holds the lock")

const mode = 0o600 // of files that are created

// Open opens a regular file, and creates it (0600) if flag has O_CREATE. It never
// waits for a pipe or a device, and follows no symbolic link at the end of path.
func Open(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil {
		if err := regular(path, info); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(path, flag|openFlags, mode)
	if err != nil {
		return nil, err
	}
	return checked(file, path, regular) // it may have been replaced meanwhile
}

// checked closes a file that a check refuses.
func checked(file *os.File, path string, check func(string, fs.FileInfo) error) (*os.File, error) {
	info, err := file.Stat()
	if err == nil {
		err = check(path, info)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// OpenPrivate opens a regular file that only the user can have written, in such a directory,
// whose parents are not checked.
func OpenPrivate(path string, flag int) (*os.File, error) {
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := Open(path, flag)
	if wrong := (*Error)(nil); errors.As(err, &wrong) {
		wrong.Mend = MoveAway(path)
	}
	if err != nil {
		return nil, err
	}
	return checked(file, path, private)
}

// WriteNew writes a new file that only its owner can read.
func WriteNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// RenameOpen renames a file that is open, and replaces what has the other name. It does nothing if another file has
// taken its path: another program renamed it before.
func RenameOpen(file *os.File, name string) error {
	own, err := file.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Lstat(file.Name()); err != nil || !os.SameFile(own, there) {
		return nil
	}
	return os.Rename(file.Name(), name)
}

// MakeDir makes a directory (0700) with its parents, so that it outlives a crash, and checks it.
func MakeDir(path string) error {
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if err := SyncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return checkDir(path)
}

// checkDir checks that a directory is no symbolic link and only the user's to write.
func checkDir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &Error{path, "is " + kind(info) + ", not a directory", MoveAway(path)}
	}
	return private(path, info)
}

func private(path string, info fs.FileInfo) error {
	if err := unshared(path, info, func(owner int) bool { return owner == os.Geteuid() }); err != nil {
		return err
	}
	if info.Mode().IsRegular() && isLinked(info) {
		quoted := kubectl.Quote(path)
		return &Error{
			path,
			"has another name too (a hard link)",
			fmt.Sprintf("cp -p %s %[2]s && mv %[2]s %[1]s", quoted, kubectl.Quote(path+".new")),
		}
	}
	return nil
}

func foreign(path string, owner int) error {
	return &Error{path, fmt.Sprintf("belongs to user %d, and veltui runs as user %d", owner, os.Geteuid()),
		fmt.Sprintf("sudo chown %d %s", os.Geteuid(), kubectl.Quote(path))}
}

// unshared checks the owner of a file or directory, and that nobody else may write to it.
func unshared(path string, info fs.FileInfo, allowed func(owner int) bool) error {
	owner, known := ownerOf(info)
	switch perm := info.Mode().Perm(); {
	case !known:
		return nil
	case !allowed(owner):
		return foreign(path, owner)
	case perm&0o002 != 0:
		return &Error{path, "may be written by anyone on this machine", "chmod go-w " + kubectl.Quote(path)}
	case perm&0o020 != 0:
		return &Error{path, "may be written by its group", "chmod go-w " + kubectl.Quote(path)}
	}
	return nil
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &Error{path, "is " + kind(info) + ", not a regular file", ""}
}

// MoveAway returns the shell command that moves a file out of the way.
func MoveAway(path string) string {
	return "mv " + kubectl.Quote(path) + " " + kubectl.Quote(path+".old")
}

func kind(info fs.FileInfo) string {
	switch t := info.Mode().Type(); {
	case t == 0:
		return "a regular file"
	case t&fs.ModeDir != 0:
		return "a directory"
	case t&fs.ModeSymlink != 0:
		return "a symbolic link"
	case t&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case t&fs.ModeSocket != 0:
		return "a socket"
	case t&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

const maxLinks = 40 // that lead to one file

// ReadTrusted reads at most limit bytes of a file that says what the program does. As ssh does, it refuses
// one that others could have written or replaced: the file, and each link that leads to it, must belong to
// the user or to root, and lie in a directory of one of them; nobody else may write to either. Nobody else
// can replace a file in a directory with the sticky bit, or that is mounted read-only.
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

func isTrusted(user int) bool { return user == 0 || user == os.Geteuid() }

// parent is the directory of a path as it stands there: after a link, ".." is not the directory before it.
func parent(path string) string {
	dir, _ := filepath.Split(path)
	return cmp.Or(strings.TrimRight(dir, string(filepath.Separator)), dir, ".")
}
