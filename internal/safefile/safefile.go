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

// Error describes what is wrong with a file and the command that fixes it.
type Error struct {
	Path    string
	Problem string
	// FixCommand is a shell command, empty if none helps.
	FixCommand string
}

func (e *Error) Error() string {
	text := e.Path + " " + e.Problem
	if e.FixCommand != "" {
		text += "; run: " + e.FixCommand
	}
	return text
}

var ErrLocked = errors.New("another process holds the lock")

const fileMode = 0o600 // of created files

// Open opens a regular file, and creates it (0600) if flag has O_CREATE. It never
// waits for a pipe or a device, and follows no symbolic link at the end of path.
func Open(path string, flag int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil {
		if err := checkRegular(path, info); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(path, flag|openFlags, fileMode)
	if err != nil {
		return nil, err
	}
	return checkOpened(file, path, checkRegular) // it may have been replaced in the meantime
}

// checkOpened runs a check on an open file, and closes the file if it fails.
func checkOpened(file *os.File, path string, check func(string, fs.FileInfo) error) (*os.File, error) {
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

// OpenPrivate opens a regular file that only the user can have written, in a directory that only the user can write
// to. It does not check the directory's parents.
func OpenPrivate(path string, flag int) (*os.File, error) {
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := Open(path, flag)
	if wrong := (*Error)(nil); errors.As(err, &wrong) {
		wrong.FixCommand = MoveAwayCommand(path)
	}
	if err != nil {
		return nil, err
	}
	return checkOpened(file, path, checkPrivate)
}

// WriteNew writes a new file that only its owner can read.
func WriteNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
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

// RenameOpen renames an open file, and replaces any file with the new name. It does nothing if another file has taken
// the old path: another program has renamed the open file before.
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

// MakeDir creates a directory (0700) with its parents, so that it survives a crash, and checks it.
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

// checkDir checks that a directory is not a symbolic link and that only the user can write to it.
func checkDir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &Error{path, "is " + fileKind(info) + ", not a directory", MoveAwayCommand(path)}
	}
	return checkPrivate(path, info)
}

func checkPrivate(path string, info fs.FileInfo) error {
	if err := checkOwnership(path, info, func(owner int) bool { return owner == os.Geteuid() }); err != nil {
		return err
	}
	if info.Mode().IsRegular() && hasHardLinks(info) {
		quoted := kubectl.Quote(path)
		return &Error{
			path,
			"has another name too (a hard link)",
			fmt.Sprintf("cp -p %s %[2]s && mv %[2]s %[1]s", quoted, kubectl.Quote(path+".new")),
		}
	}
	return nil
}

func wrongOwnerError(path string, owner int) error {
	return &Error{path, fmt.Sprintf("belongs to user %d, and veltui runs as user %d", owner, os.Geteuid()),
		fmt.Sprintf("sudo chown %d %s", os.Geteuid(), kubectl.Quote(path))}
}

// checkOwnership checks the owner of a file or directory, and that nobody else may write to it.
func checkOwnership(path string, info fs.FileInfo, allowed func(owner int) bool) error {
	owner, known := ownerOf(info)
	switch perm := info.Mode().Perm(); {
	case !known:
		return nil
	case !allowed(owner):
		return wrongOwnerError(path, owner)
	case perm&0o002 != 0:
		return &Error{path, "may be written by anyone on this machine", "chmod go-w " + kubectl.Quote(path)}
	case perm&0o020 != 0:
		return &Error{path, "may be written by its group", "chmod go-w " + kubectl.Quote(path)}
	}
	return nil
}

func checkRegular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &Error{path, "is " + fileKind(info) + ", not a regular file", ""}
}

// MoveAwayCommand returns the shell command that moves a file out of the way.
func MoveAwayCommand(path string) string {
	return "mv " + kubectl.Quote(path) + " " + kubectl.Quote(path+".old")
}

func fileKind(info fs.FileInfo) string {
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

const maxSymlinks = 40 // the number of links followed to one file

// ReadTrusted reads at most limit bytes of a file that controls what the program does. Like ssh, it refuses a file
// that others could have written or replaced: the file, and each link that leads to it, must belong to the user or to
// root, and lie in a directory of one of them; nobody else may write to either. Directories with the sticky bit or
// mounted read-only pass: nobody else can replace a file there.
func ReadTrusted(path string, limit int64) ([]byte, error) {
	for range maxSymlinks {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return readTrustedFile(path, info, limit)
		}
		if who, known := ownerOf(info); known && !isTrusted(who) {
			return nil, wrongOwnerError(path, who)
		}
		if err := checkTrustedDir(parentDir(path)); err != nil {
			return nil, err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(target) {
			target = parentDir(path) + string(filepath.Separator) + target
		}
		path = target
	}
	return nil, &Error{path, "is one of too many symbolic links", ""}
}

func readTrustedFile(path string, info fs.FileInfo, limit int64) ([]byte, error) {
	if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	// Report both at once, so that fixing the first problem does not lead to another error.
	if err := errors.Join(checkTrustedDir(parentDir(path)), checkOwnership(path, info, isTrusted)); err != nil {
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
	if err := checkOwnership(path, info, isTrusted); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

func checkTrustedDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSticky != 0 || isOnReadOnlyMount(path) {
		if who, known := ownerOf(info); known && isTrusted(who) {
			return nil
		}
	}
	return checkOwnership(path, info, isTrusted)
}

func isTrusted(user int) bool { return user == 0 || user == os.Geteuid() }

// parentDir returns the directory of a path without cleaning it: after a link, ".." is not the preceding directory.
func parentDir(path string) string {
	dir, _ := filepath.Split(path)
	return cmp.Or(strings.TrimRight(dir, string(filepath.Separator)), dir, ".")
}
