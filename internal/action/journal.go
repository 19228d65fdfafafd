package action

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/safefile"
)

const (
	// maxLogRead is how much of an audit log's end is read, and maxEntry a line's length.
	maxLogRead  = 32 << 20
	maxEntry    = 4 << 20
	reportedFor = 30 * 24 * time.Hour // how long an attempt with an unknown outcome is reported
	// presumedDead is the age at which an attempt without a testable lock has surely ended.
	presumedDead = 24 * time.Hour
)

// LogDamage says which part of an audit log could not be used.
type LogDamage struct {
	Lines  int  // that are no entries
	Begins bool // older entries were not read, because there are too many
}

// ReadLog calls each for every entry of a directory's audit log, oldest first. It refuses a log that others could
// have written, with a [safefile.Error].
func ReadLog(dir string, each func(Entry)) (LogDamage, error) {
	file, err := safefile.OpenPrivate(filepath.Join(dir, LogFile), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return LogDamage{}, nil
	}
	if err != nil {
		return LogDamage{}, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return LogDamage{}, fmt.Errorf("reading the audit log: %w", err)
	}
	damage, err := readEntries(io.NewSectionReader(file, 0, info.Size()), maxLogRead, each)
	if err != nil {
		err = fmt.Errorf("reading the audit log: %w", err)
	}
	return damage, err
}

func readEntries(log *io.SectionReader, limit int64, each func(Entry)) (damage LogDamage, err error) {
	if skipped := log.Size() - limit; skipped > 0 {
		damage.Begins = true
		if _, err := log.Seek(skipped-1, io.SeekStart); err != nil {
			return damage, err
		}
	}
	lines := bufio.NewReaderSize(log, 64<<10)
	if damage.Begins { // to the end of the line that is cut in two
		if _, _, err := readLine(lines); err != nil {
			return damage, ignoreEOF(err)
		}
	}
	for {
		line, whole, err := readLine(lines)
		if len(line) > 0 {
			var e Entry
			if !whole || json.Unmarshal(line, &e) != nil {
				damage.Lines++
			} else {
				e.shorten()
				each(e)
			}
		}
		if err != nil {
			return damage, ignoreEOF(err)
		}
	}
}

const (
	maxWord    = 1 << 10  // the length of an entry's field; what veltui writes is shorter
	maxText    = 8 << 10  // of a message or error
	maxCommand = 64 << 10 // of a command, which may hold a patch
	maxRequest = 2 << 20  // of a request: an API server takes no longer one (etcd's --max-request-bytes)
)

// shorten bounds what an entry has to show: the file is the user's own, but a line of it may be 4 MiB long.
func (e *Entry) shorten() {
	for _, word := range []*string{
		&e.Event, &e.Attempt, &e.Context, &e.Cluster, &e.ClusterUID, &e.Host, &e.Machine,
		&e.Action, &e.Kind, &e.Namespace, &e.Name, &e.UID, &e.By, &e.From, &e.To, &e.Target,
		(*string)(&e.State), (*string)(&e.Sent), &e.Phase,
	} {
		*word = human.Shorten(*word, maxWord)
	}
	for _, text := range []*string{&e.Reason, &e.Message, &e.Error, &e.Copy} {
		*text = human.Shorten(*text, maxText)
	}
	for _, commands := range [][]string{e.Commands, e.Undo} {
		for i := range commands {
			commands[i] = human.Shorten(commands[i], maxCommand)
		}
	}
	e.Commands, e.Undo = e.Commands[:min(len(e.Commands), maxCommands)], e.Undo[:min(len(e.Undo), maxCommands)]
	for _, request := range []*json.RawMessage{&e.Patch, &e.Object} {
		if len(*request) > maxRequest {
			*request = json.RawMessage(fmt.Sprintf(`"%d bytes, left out"`, len(*request)))
		}
	}
	if d := e.Delete; d != nil {
		for _, version := range []*string{(*string)(d.UID), d.ResourceVersion} {
			if version != nil {
				*version = human.Shorten(*version, maxWord)
			}
		}
	}
}

const maxCommands = 1000 // of an entry: a command for each volume that is cancelled

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readLine reads a line without a crash's padding, and reports whether all was kept.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxEntry; whole {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.Trim(line, " \t\r\n\x00"), whole, err
		}
	}
}

// Attempt is an attempt in the audit log; Entry is its first one.
type Attempt struct {
	Entry
	checks        []Entry // its dry runs, each noted before the first request
	sends, landed []Entry // of its requests
	removed       bool    // the ConfigMap of a restore is gone again
	last          time.Time
	ended         bool // in doubt
	altered       bool // an answer differed from the request: that the object lacks the mark proves nothing
}

// leftover is the request that made the ConfigMap of a restore, nil if there was none or it is gone again.
func (a *Attempt) leftover() *Entry {
	i := slices.IndexFunc(a.sends, func(e Entry) bool { return isPolicy(e.Target) })
	if i < 0 || a.removed {
		return nil
	}
	return &a.sends[i]
}

func (a *Attempt) WasSent() bool { return len(a.sends) > 0 }

// UnfinishedAttempts returns the attempts that no longer run but did not end, or ended in doubt, oldest first.
func UnfinishedAttempts(dir string, now time.Time) ([]Attempt, LogDamage, error) {
	open := map[string]*Attempt{}
	var over []string
	damage, err := ReadLog(dir, func(e Entry) {
		a := open[e.Attempt]
		switch {
		case e.Event == "end" && (e.Sent != Doubtful || e.State == Superseded) &&
			(a == nil || e.Sent == NotSent || a.leftover() == nil):
			delete(open, e.Attempt)
			over = append(over, e.Attempt)
			return
		case a == nil && e.Event == "begin" && now.Sub(e.Time) < reportedFor:
			a = &Attempt{Entry: e}
			open[e.Attempt] = a
		case a == nil:
			return
		}
		a.last = e.Time
		switch e.Event {
		case "end":
			a.ended, a.altered = true, e.State == Altered || e.State == CarriedOut
		case "check":
			a.checks = append(a.checks, e)
		case "send":
			a.sends = append(a.sends, e)
		case "removed":
			a.removed = true
		case "landed":
			a.landed = append(a.landed, e)
		}
	})
	removeLocks(dir, over)
	var unfinished []Attempt
	for _, a := range open {
		ended, testErr := a.hasEnded(dir, now)
		err = cmp.Or(err, testErr)
		if ended {
			unfinished = append(unfinished, *a)
		}
	}
	slices.SortStableFunc(
		unfinished,
		func(a, b Attempt) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Attempt, b.Attempt)) },
	)
	return unfinished, damage, err
}

// removeLocks removes the locks that attempts which are over have left.
func removeLocks(dir string, over []string) {
	left, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil || len(left) == 0 {
		return
	}
	for _, attempt := range over {
		if slices.Contains(left, lockFile(dir, attempt)) {
			removeLock(dir, attempt)
		}
	}
}

// hasEnded reports whether an attempt surely no longer runs. A free lock proves that on the machine where it was
// taken; elsewhere only time does: not every network file system passes locks on.
func (a *Attempt) hasEnded(dir string, now time.Time) (bool, error) {
	if a.ended {
		return true, nil
	}
	held, err := isHeld(dir, a.Attempt)
	if held {
		return false, nil
	}
	machine, hostErr := os.Hostname()
	if err == nil && hostErr == nil && a.Machine == machine {
		return true, nil
	}
	return now.Sub(a.last) >= presumedDead, err
}
