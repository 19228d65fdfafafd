package action

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const heldByVelero = "restores.velero.io/external-resources-finalizer"

// deleteRestoreSend deletes a restore that a finalizer holds. Nobody plays Velero.
var deleteRestoreSend = sendAction{
	fakeNamespace + "restores/r",
	deletedPrefix,
	fillEnded,
	true,
	proposing(DeleteRestore, "Restore", "r", Request{Reason: "no longer needed"}),
}

func proposing(name Kind, kind, of string, r Request) func(context.Context, *Engine) (Plan, error) {
	return func(ctx context.Context, f *Engine) (Plan, error) {
		return f.ProposePlan(ctx, name, NewNamedObject(kind, of), r)
	}
}

func fillEnded(o map[string]any, start time.Time, uid string) {
	fill(o, start, uid)
	o["metadata"].(map[string]any)["finalizers"] = []any{heldByVelero}
	o["status"].(map[string]any)["phase"] = "Completed"
}

// deleteBackupSend requests the deletion of a backup of this cluster.
func deleteBackupSend(t *testing.T) sendAction {
	a := sendAction{
		"",
		deletedPrefix,
		fillDeletion,
		false,
		proposing(DeleteBackup, "Backup", "source", Request{Reason: "no longer needed", AllowLastCopy: true}),
	}
	p := proposed(t, a, func(*sendBench) {})
	if !p.IsPossible() {
		t.Fatalf("no plan: %s", p.Refusal)
	}
	a.path = fakeNamespace + "deletebackuprequests/" + p.targets[0].GetName()
	return a
}

func fillDeletion(o map[string]any, start time.Time, uid string) {
	o["apiVersion"], o["kind"] = "velero.io/v1", "DeleteBackupRequest"
	o["metadata"] = map[string]any{
		"name":              "source-1",
		"namespace":         "velero",
		"uid":               uid,
		"creationTimestamp": start.UTC().Format(time.RFC3339),
	}
	o["spec"] = map[string]any{"backupName": "source"}
}

// ownBackup makes the backup one that this cluster made, in a location that can be written.
func ownBackup(b *sendBench) {
	at := b.start.UTC().Format(time.RFC3339)
	b.api.put(fakeNamespace+"backups/source", func(o map[string]any) {
		o["metadata"] = map[string]any{
			"name":              "source",
			"namespace":         "velero",
			"uid":               "b-1",
			"generation":        int64(8),
			"creationTimestamp": at,
		}
		o["spec"] = map[string]any{"storageLocation": "default", "includedNamespaces": []any{"shop"}}
		o["status"] = map[string]any{"phase": "Completed", "startTimestamp": at, "completionTimestamp": at}
	})
	b.location("ReadWrite", "Available")
}

func (b *sendBench) location(mode, phase string) {
	b.api.put(fakeNamespace+"backupstoragelocations/default", func(o map[string]any) {
		o["apiVersion"], o["kind"] = "velero.io/v1", "BackupStorageLocation"
		o["metadata"] = map[string]any{"name": "default", "namespace": "velero", "uid": "l-1"}
		o["spec"], o["status"] = map[string]any{"accessMode": mode}, map[string]any{"phase": phase}
	})
}

// What holds for every write holds for deletions: never twice, never another object, and the journal is always true.
func TestDeleteRestoreInvariants(t *testing.T) {
	trySends(t, deleteRestoreSend, sampleStride(41, 409, 599))
}

// A restore that no finalizer holds is gone at once: a repeated request finds nothing.
func TestDeleteUnheldRestoreInvariants(t *testing.T) {
	unheld := deleteRestoreSend
	unheld.fill = func(o map[string]any, start time.Time, uid string) {
		fillEnded(o, start, uid)
		delete(o["metadata"].(map[string]any), "finalizers")
	}
	trySends(t, unheld, sampleStride(83, 829, 1201))
}

func TestDeleteBackupInvariants(t *testing.T) {
	a := deleteBackupSend(t)
	trySends(t, a, sampleStride(41, 409, 599))
}

// Velero is faster than the answer: the request is gone and so is the backup. It is not requested again, not even where
// another backup has taken the name.
func TestDeletionFasterThanItsAnswer(t *testing.T) {
	a := deleteBackupSend(t)
	for name, then := range map[string]func(*sendBench){
		"the backup is gone":     func(b *sendBench) { b.api.delete(fakeNamespace + "backups/source") },
		"the backup is Deleting": func(b *sendBench) { b.phase("Deleting") },
		"another backup has its name": func(b *sendBench) {
			b.api.put(fakeNamespace+"backups/source", func(o map[string]any) { o["metadata"].(map[string]any)["uid"] = "b-2" })
		},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(a)
			engine, p := b.planned(t, dir)
			sendCase{"write", "answer lost", "none", "", "nothing"}.tamper(b)
			lost := b.api.tamper
			b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
				response, err := lost(step, r, serve)
				if step == "write" && err != nil {
					b.api.delete(b.path)
					then(b)
				}
				return response, err
			}
			out, _ := engine.ApplyPlan(t.Context(), p, false, nil)
			if n := len(
				b.api.landings(b.path),
			); n != 1 || out.Sent == NotSent ||
				strings.Contains(out.Message, "nothing was written") {
				t.Errorf("%s: %d requests, %s, %s: %s", name, n, out.State, out.Sent, out.Message)
			}
		})
	}
}

// The request stays, whatever becomes of it, also when the attempt is looked up later: only Velero deletes it.
func TestRequestOfADeletionStays(t *testing.T) {
	a := deleteBackupSend(t)
	for name, lose := range map[string]bool{"carried out": false, "without an answer": true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(a)
			engine, p := b.planned(t, dir)
			if lose {
				sendCase{"write", "answer lost", "none", "", "nothing"}.tamper(b)
			}
			_, _ = engine.ApplyPlan(t.Context(), p, false, nil)
			b.api.tamper = nil
			open, _, err := UnfinishedAttempts(dir, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			for i := range open {
				if _, err := engine.SettleAttempt(t.Context(), &open[i]); err != nil {
					t.Error(err)
				}
			}
			if b.api.get(b.path) == nil {
				t.Errorf("%s: the request is gone", name)
			}
		})
	}
}

func (b *sendBench) phase(phase string) {
	b.api.put(fakeNamespace+"backups/source", func(o map[string]any) { o["status"].(map[string]any)["phase"] = phase })
}

// What a deletion that was interrupted came to is looked up afterwards. A deletion leaves no mark, so that one that
// took place is never said to be ours.
func TestSettleDeletion(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		later  func(*sendBench)
		want   SentState
		known  bool
	}{
		"it was deleted": {"very late", func(*sendBench) { time.Sleep(3 * time.Minute) }, Doubtful, true},
		"it is gone":     {"silence", func(b *sendBench) { b.api.delete(b.path) }, Doubtful, true},
		"another has its name": {"silence", func(b *sendBench) {
			b.api.delete(b.path)
			b.api.put(b.path, func(o map[string]any) { b.fill(o, b.start, "uid-2") })
		}, Doubtful, true},
		"it is as it was":     {"silence", func(*sendBench) {}, Doubtful, false},
		"somebody changed it": {"silence", func(b *sendBench) { b.other(true) }, NotSent, true},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(deleteRestoreSend)
			o := b.options(dir)
			engine, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			p, err := b.plan(t.Context(), engine)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			b.cancel = cancel
			sendCase{"write", c.answer, "read", "lost", "ctrl+c"}.tamper(b)
			_, _ = engine.ApplyPlan(ctx, p, false, nil)
			b.api.tamper = nil
			c.later(b)
			unfinished, _, err := UnfinishedAttempts(o.AuditDir, time.Now())
			if err != nil || len(unfinished) != 1 ||
				!strings.Contains(unfinished[0].FormatSummary(time.Now()), "delete restore/r") {
				t.Fatalf("%s: %v %v", name, unfinished, err)
			}
			if fate, err := engine.SettleAttempt(
				t.Context(),
				&unfinished[0],
			); err != nil || fate.Sent != c.want ||
				fate.IsKnown != c.known {
				t.Errorf("%s: %+v %v", name, fate, err)
			}
		})
	}
}

// A request that was sent before veltui died is found by its own mark and name.
func TestSettleDeletionRequest(t *testing.T) {
	a := deleteBackupSend(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(a)
		o := b.options(dir)
		engine, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.plan(t.Context(), engine)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		b.cancel = cancel
		sendCase{"write", "very late", "read", "lost", "ctrl+c"}.tamper(b)
		_, _ = engine.ApplyPlan(ctx, p, false, nil)
		b.api.tamper = nil
		time.Sleep(3 * time.Minute)
		unfinished, _, err := UnfinishedAttempts(o.AuditDir, time.Now())
		if err != nil || len(unfinished) != 1 ||
			!strings.Contains(unfinished[0].FormatSummary(time.Now()), "delete backup/source") {
			t.Fatalf("%v %v", unfinished, err)
		}
		if fate, err := engine.SettleAttempt(t.Context(), &unfinished[0]); err != nil || fate.Sent != Landed || !fate.IsKnown {
			t.Errorf("%+v %v", fate, err)
		}
	})
}
