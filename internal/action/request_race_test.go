package action

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A backup that takes the name after the last look is what Velero deletes: that is said loudly, with the command that
// withdraws the request, as long as there is one to withdraw.
func TestAnotherBackupTakesTheName(t *testing.T) {
	a := deleteBackupSend(t)
	for name, c := range map[string]struct {
		request func(b *sendBench)
		state   OutcomeState
		text    string
		undo    bool
	}{
		"the request waits": {func(*sendBench) {}, StateMisdirected, "Velero will delete THAT one", true},
		"Velero has begun": {func(b *sendBench) {
			b.api.put(b.path, func(o map[string]any) { o["status"] = map[string]any{"phase": "InProgress"} })
		}, StateMisdirected, "has begun to delete", false},
		"Velero refused": {func(b *sendBench) {
			b.api.put(b.path, func(o map[string]any) {
				o["status"] = map[string]any{"phase": "Processed", "errors": []any{"no"}}
			})
		}, StateNoEffect, "did not delete it", false},
		"the request is gone": {func(b *sendBench) { b.api.delete(b.path) }, StateSettled, "no request is left", false},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(a)
			engine, p := b.planned(t, dir)
			b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
				connected(r)
				response := serve()
				if step == "write" {
					b.api.put(
						fakeNamespace+"backups/source",
						func(o map[string]any) { o["metadata"].(map[string]any)["uid"] = "b-2" },
					)
					c.request(b)
				}
				return response, nil
			}
			out, err := engine.ApplyPlan(t.Context(), p, false, nil)
			if err != nil || out.State != c.state || out.Sent != Landed || !strings.Contains(out.Message, c.text) ||
				!strings.Contains(out.Message, "b-2") {
				t.Errorf("%s: %s, %s: %s, %v", name, out.State, out.Sent, out.Message, err)
			}
			withdraws := len(out.UndoCommands) == 1 &&
				strings.HasSuffix(out.UndoCommands[0], "delete deletebackuprequests.velero.io "+p.targets[0].GetName())
			if withdraws != c.undo {
				t.Errorf("%s: %q", name, out.UndoCommands)
			}
			log := entries(t, out.AuditLogPath)
			if end := log[len(log)-1]; end.State != c.state || (len(end.UndoCommands) > 0) != c.undo {
				t.Errorf("%s: %+v", name, end)
			}
		})
	}
}

// The restores are listed right before the request: one that began after the last look, or that would go with the backup
// and was not shown, stops it.
func TestRestoreBeginsBeforeTheRequest(t *testing.T) {
	a := deleteBackupSend(t)
	for name, c := range map[string]struct{ phase, backup, want string }{
		"it runs":             {"InProgress", "source", "1 restore reads it: late"},
		"it has not begun":    {"", "source", "1 restore reads it: late"},
		"it has ended":        {"Completed", "source", "what it would lead to"},
		"it is of another":    {"InProgress", "other", ""},
		"another's has ended": {"Completed", "other", ""},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(a)
			engine, p := b.planned(t, dir)
			dryRuns := 0
			b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
				connected(r)
				if step == "dry run" && dryRuns == 0 {
					dryRuns++
					b.api.put(fakeNamespace+"restores/late", func(o map[string]any) {
						fill(o, time.Now(), "r-9")
						o["metadata"].(map[string]any)["name"] = "late"
						o["spec"] = map[string]any{"backupName": c.backup}
						o["status"] = map[string]any{"phase": c.phase}
					})
				}
				return serve(), nil
			}
			out, err := engine.ApplyPlan(t.Context(), p, false, nil)
			if c.want == "" {
				if out.Sent != Landed {
					t.Errorf("%s: %s, %s: %s, %v", name, out.State, out.Sent, out.Message, err)
				}
				return
			}
			if err != nil || out.State != StateChanged || out.Sent != NotSent || !strings.Contains(out.Message, c.want) ||
				b.api.get(b.path) != nil {
				t.Errorf("%s: %s, %s: %s, %v", name, out.State, out.Sent, out.Message, err)
			}
		})
	}
}

// Of two operators who ask for the same at once, the slower one is told who was faster and when: an answer of 409 to the
// only request is definite. It is not where a request had no answer before, or where what has the name came later.
func TestConflictIsDefinite(t *testing.T) {
	joes := func(b *sendBench, made time.Time, mark string) {
		b.api.put(b.path, func(o map[string]any) {
			b.fill(o, made, "uid-3")
			o["metadata"].(map[string]any)["annotations"] = map[string]any{
				b.mark.attemptKey():    mark,
				string(b.mark) + "-by": "joe",
				string(b.mark) + "-at": made.UTC().Format(time.RFC3339),
			}
		})
	}
	for name, c := range map[string]struct {
		before, after func(b *sendBench)
		lost          bool
		want          SentState
	}{
		"at the same time":   {before: func(b *sendBench) { joes(b, time.Now(), "joes .") }, want: NotSent},
		"a second before":    {before: func(b *sendBench) { joes(b, time.Now().Add(-time.Second), "joes .") }, want: NotSent},
		"an hour before":     {before: func(b *sendBench) { joes(b, time.Now().Add(-time.Hour), "joes") }, want: NotSent},
		"by an old veltui":   {before: func(b *sendBench) { joes(b, time.Now(), "joes") }, want: Doubtful},
		"a request was lost": {before: func(b *sendBench) { joes(b, time.Now(), "joes .") }, lost: true, want: Doubtful},
		"another one by then": {before: func(b *sendBench) { joes(b, time.Now(), "joes .") }, after: func(b *sendBench) {
			time.Sleep(8 * time.Second)
			joes(b, time.Now(), "joes .")
		}, want: Doubtful},
	} {
		for action, a := range map[string]sendAction{"create": createSend, "delete a backup": deleteBackupSend(t)} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(a)
				engine, p := b.planned(t, dir)
				writes := 0
				b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
					connected(r)
					if step != "write" {
						return serve(), nil
					}
					writes++
					if c.lost && writes == 1 {
						return nil, os.ErrDeadlineExceeded
					}
					c.before(b)
					response := serve()
					if c.after != nil {
						c.after(b)
					}
					return response, nil
				}
				out, err := engine.ApplyPlan(t.Context(), p, false, nil)
				if out.Sent != c.want ||
					c.want == NotSent &&
						(err != nil || out.State != StateChanged || !strings.Contains(out.Message, "joe ") ||
							!strings.Contains(out.Message, " UTC;") || strings.Contains(out.Message, "unknown")) {
					t.Errorf("%s, %s: %s, %s: %s, %v", action, name, out.State, out.Sent, out.Message, err)
				}
			})
		}
	}
}

// A deletion that the API server answers with 409 is somebody else's where the object was being deleted before.
func TestConflictOfADeletion(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration
		want SentState
	}{"long before": {10 * time.Minute, NotSent}, "at the same time": {0, Doubtful}} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(deleteRestoreSend)
			engine, p := b.planned(t, dir)
			b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
				connected(r)
				if step == "write" {
					b.api.put(b.path, func(o map[string]any) {
						o["metadata"].(map[string]any)["deletionTimestamp"] = time.Now().
							Add(-c.ago).
							UTC().
							Format(time.RFC3339)
					})
				}
				return serve(), nil
			}
			if out, err := engine.ApplyPlan(t.Context(), p, false, nil); out.Sent != c.want {
				t.Errorf("%s: %s, %s: %s, %v", name, out.State, out.Sent, out.Message, err)
			}
		})
	}
}

// Locks of attempts that are over go, and those that are held stay.
func TestLocksOfAttemptsThatAreOver(t *testing.T) {
	dir := t.TempDir()
	o := Options{AuditDir: dir}
	for _, attempt := range []string{"over", "running", "open"} {
		a, err := newAuditLog(o, attempt)
		if err != nil {
			t.Fatal(err)
		}
		e := AuditEntry{Time: time.Now(), Event: "begin", Attempt: attempt, Machine: a.machine}
		if err := a.writeEntry(e); err != nil {
			t.Fatal(err)
		}
		if attempt == "over" {
			e.Event, e.Sent = "end", NotSent
			if err := a.writeEntry(e); err != nil {
				t.Fatal(err)
			}
		}
		if attempt != "running" {
			_ = a.lock.Close() // as the kernel does for a process that was killed
		}
	}
	unfinished, _, err := UnfinishedAttempts(dir, time.Now())
	if err != nil || len(unfinished) != 1 || unfinished[0].Attempt != "open" {
		t.Errorf("%v %v", unfinished, err)
	}
	removeLock(dir, "running") // which is held
	left, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	if len(left) != 2 || filepath.Base(left[0]) != "open.lock" || filepath.Base(left[1]) != "running.lock" {
		t.Errorf("%q", left)
	}
}

// Whatever a line of the journal holds, what is printed of it is short.
func TestLongJournalLinesAreShortened(t *testing.T) {
	long := strings.Repeat("x", 3_000_000)
	for _, field := range []string{"name", "namespace", "kind", "context", "cluster", "by", "reason", "message", "error", "action", "state",
		"sent", "phase", "from", "to", "target", "copy", "machine", "host", "uid"} {
		dir := t.TempDir()
		line := `{"time":"2026-11-28T05:00:00Z","event":"begin","attempt":"a","` + field + `":"` + long + `"}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, AuditLogFile), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadAuditLog(dir, func(e AuditEntry) {
			a := Attempt{AuditEntry: e}
			total := len(
				a.FormatSummary(time.Now()),
			) + len(
				e.Name,
			) + len(
				e.Namespace,
			) + len(
				e.Kind,
			) + len(
				e.Context,
			) + len(
				e.Cluster,
			) + len(
				e.By,
			) +
				len(
					e.Reason,
				) + len(
				e.Message,
			) + len(
				e.Error,
			) + len(
				e.Action,
			) + len(
				e.State,
			) + len(
				e.Sent,
			) + len(
				e.Phase,
			) + len(
				e.From,
			) + len(
				e.To,
			) +
				len(
					e.Target,
				) + len(
				e.CopyPath,
			) + len(
				e.Machine,
			) + len(
				e.Host,
			) + len(
				e.UID,
			)
			if total > 20_000 {
				t.Errorf("%s: %d bytes", field, total)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	commands := `{"event":"begin","attempt":"a","commands":["` + long + `"],"object":{"data":"` + long + `"}}` + "\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, AuditLogFile), []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	if damage, err := ReadAuditLog(dir, func(AuditEntry) { t.Error("a line of 6 MB is read") }); err != nil || damage.BadLines != 1 {
		t.Errorf("%+v %v", damage, err)
	}
}
