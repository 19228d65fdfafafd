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
	// maxAuditLogRead limits how much of an audit log's end is read, and maxEntry the length of a line.
	maxAuditLogRead        = 32 << 20
	maxEntry               = 4 << 20
	unfinishedReportPeriod = 30 * 24 * time.Hour // how long an attempt with an unknown outcome is reported
	// maxAttemptAge is the age at which an attempt without a testable lock has surely ended.
	maxAttemptAge = 24 * time.Hour
)

// AuditLogDamage says which part of an audit log could not be used.
type AuditLogDamage struct {
	BadLines    int  // lines that are not entries
	IsTruncated bool // older entries were not read, because there are too many
}

// ReadAuditLog calls each for every entry of a directory's audit log, oldest first. It refuses a log that other users
// could have written, with a [safefile.Error].
func ReadAuditLog(dir string, each func(AuditEntry)) (AuditLogDamage, error) {
	file, err := safefile.OpenPrivate(filepath.Join(dir, AuditLogFile), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return AuditLogDamage{}, nil
	}
	if err != nil {
		return AuditLogDamage{}, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return AuditLogDamage{}, fmt.Errorf("reading the audit log: %w", err)
	}
	damage, err := readEntries(io.NewSectionReader(file, 0, info.Size()), maxAuditLogRead, each)
	if err != nil {
		err = fmt.Errorf("reading the audit log: %w", err)
	}
	return damage, err
}

func readEntries(log *io.SectionReader, limit int64, each func(AuditEntry)) (damage AuditLogDamage, err error) {
	if skipped := log.Size() - limit; skipped > 0 {
		damage.IsTruncated = true
		if _, err := log.Seek(skipped-1, io.SeekStart); err != nil {
			return damage, err
		}
	}
	lines := bufio.NewReaderSize(log, 64<<10)
	if damage.IsTruncated { // skip the rest of the line that the start cuts in two
		if _, _, err := readLine(lines); err != nil {
			return damage, ignoreEOF(err)
		}
	}
	for {
		line, whole, err := readLine(lines)
		if len(line) > 0 {
			var e AuditEntry
			if !whole || json.Unmarshal(line, &e) != nil {
				damage.BadLines++
			} else {
				e.shortenFields()
				each(e)
			}
		}
		if err != nil {
			return damage, ignoreEOF(err)
		}
	}
}

const (
	maxFieldLength   = 1 << 10  // the length of an entry's field; what veltui writes is shorter
	maxMessageLength = 8 << 10  // of a message or error
	maxCommand       = 64 << 10 // of a command, which may hold a patch
	maxRequest       = 2 << 20  // of a request: an API server accepts no longer one (etcd's --max-request-bytes)
)

// shortenFields limits the length of an entry's fields: the file is the user's own, but a line may be 4 MiB long.
func (e *AuditEntry) shortenFields() {
	for _, word := range []*string{
		&e.Event, &e.Attempt, &e.Context, &e.Cluster, &e.ClusterUID, &e.Host, &e.Machine,
		&e.Action, &e.Kind, &e.Namespace, &e.Name, &e.UID, &e.By, &e.From, &e.To, &e.Target,
		(*string)(&e.State), (*string)(&e.Sent), &e.Phase,
	} {
		*word = human.Shorten(*word, maxFieldLength)
	}
	for _, text := range []*string{&e.Reason, &e.Message, &e.Error, &e.CopyPath} {
		*text = human.Shorten(*text, maxMessageLength)
	}
	for _, commands := range [][]string{e.Commands, e.UndoCommands} {
		for i := range commands {
			commands[i] = human.Shorten(commands[i], maxCommand)
		}
	}
	e.Commands = e.Commands[:min(len(e.Commands), maxCommands)]
	e.UndoCommands = e.UndoCommands[:min(len(e.UndoCommands), maxCommands)]
	for _, request := range []*json.RawMessage{&e.Patch, &e.Object} {
		if len(*request) > maxRequest {
			*request = json.RawMessage(fmt.Sprintf(`"%d bytes, left out"`, len(*request)))
		}
	}
	if d := e.DeletePreconditions; d != nil {
		for _, version := range []*string{(*string)(d.UID), d.ResourceVersion} {
			if version != nil {
				*version = human.Shorten(*version, maxFieldLength)
			}
		}
	}
}

const maxCommands = 1000 // of an entry: one command for each cancelled volume

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readLine reads a line without the padding left by a crash, and reports whether the whole line was kept.
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

// Attempt is an attempt in the audit log; Entry is its first entry.
type Attempt struct {
	AuditEntry
	dryRunEntries              []AuditEntry // its dry runs, each recorded before the first request
	sentEntries, landedEntries []AuditEntry // its requests
	policyRemoved              bool         // the ConfigMap of a restore was removed again
	lastEntryAt                time.Time
	endedInDoubt               bool // the attempt ended in doubt
	// answerAltered is true if an answer differed from the request: a missing mark on the object then proves nothing.
	answerAltered bool
}

// findLeftoverPolicy returns the request that created the ConfigMap of a restore, nil if there was none or it was
// removed again.
func (a *Attempt) findLeftoverPolicy() *AuditEntry {
	i := slices.IndexFunc(a.sentEntries, func(e AuditEntry) bool { return isPolicyTarget(e.Target) })
	if i < 0 || a.policyRemoved {
		return nil
	}
	return &a.sentEntries[i]
}

func (a *Attempt) WasSent() bool { return len(a.sentEntries) > 0 }

// UnfinishedAttempts returns the attempts that no longer run but did not end, or ended in doubt, oldest first.
func UnfinishedAttempts(dir string, now time.Time) ([]Attempt, AuditLogDamage, error) {
	open := map[string]*Attempt{}
	var over []string
	damage, err := ReadAuditLog(dir, func(e AuditEntry) {
		a := open[e.Attempt]
		switch {
		case e.Event == "end" && (e.Sent != Doubtful || e.State == StateSuperseded) &&
			(a == nil || e.Sent == NotSent || a.findLeftoverPolicy() == nil):
			delete(open, e.Attempt)
			over = append(over, e.Attempt)
			return
		case a == nil && e.Event == "begin" && now.Sub(e.Time) < unfinishedReportPeriod:
			a = &Attempt{AuditEntry: e}
			open[e.Attempt] = a
		case a == nil:
			return
		}
		a.lastEntryAt = e.Time
		switch e.Event {
		case "end":
			a.endedInDoubt, a.answerAltered = true, e.State == StateAltered || e.State == StateCarriedOut
		case "check":
			a.dryRunEntries = append(a.dryRunEntries, e)
		case "send":
			a.sentEntries = append(a.sentEntries, e)
		case "removed":
			a.policyRemoved = true
		case "landed":
			a.landedEntries = append(a.landedEntries, e)
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

// removeLocks removes the locks left by the given attempts, which are over.
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

// hasEnded reports whether an attempt certainly no longer runs. A free lock proves that on the machine where it was
// taken; elsewhere only time does: not every network file system supports locks.
func (a *Attempt) hasEnded(dir string, now time.Time) (bool, error) {
	if a.endedInDoubt {
		return true, nil
	}
	held, err := isLockHeld(dir, a.Attempt)
	if held {
		return false, nil
	}
	machine, hostErr := os.Hostname()
	if err == nil && hostErr == nil && a.Machine == machine {
		return true, nil
	}
	return now.Sub(a.lastEntryAt) >= maxAttemptAge, err
}
