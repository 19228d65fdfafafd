package action

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// proposed is a plan against a cluster that was changed before.
func proposed(t *testing.T, a sendAction, change func(*sendBench)) (p Plan) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(a)
		change(b)
		engine, err := New(b.options(dir))
		if err != nil {
			t.Fatal(err)
		}
		if p, err = a.plan(t.Context(), engine); err != nil {
			t.Fatal(err)
		}
	})
	return p
}

// What Velero would refuse, or what is there already, is not created.
func TestCreateRefuses(t *testing.T) {
	source := fakeNamespace + "backups/source"
	status := func(o map[string]any, phase string) { o["status"] = map[string]any{"phase": phase} }
	for name, c := range map[string]struct {
		change func(*sendBench)
		want   string
	}{
		"a name that is taken":   {func(b *sendBench) { b.other(true) }, "there is a restore of that name: InProgress, made 0s ago by joe"},
		"no such backup":         {func(b *sendBench) { b.api.delete(source) }, "there is no backup source"},
		"a backup that goes on":  {func(b *sendBench) { b.api.put(source, func(o map[string]any) { status(o, "Finalizing") }) }, "backup source has not ended"},
		"a backup without phase": {func(b *sendBench) { b.api.put(source, func(o map[string]any) { delete(o, "status") }) }, "backup source has not ended"},
		"a backup in deletion":   {func(b *sendBench) { b.api.put(source, func(o map[string]any) { status(o, "Deleting") }) }, "backup source is being deleted"},
		"an unavailable location": {func(b *sendBench) {
			b.api.put(source, func(o map[string]any) { o["spec"] = map[string]any{"storageLocation": "nas"} })
			b.api.put(fakeNamespace+"backupstoragelocations/nas", func(o map[string]any) {
				o["apiVersion"], o["kind"] = "velero.io/v1", "BackupStorageLocation"
				o["metadata"] = map[string]any{"name": "nas", "namespace": "velero", "uid": "l-1"}
				status(o, "Unavailable")
			})
		}, "storage location nas is not available: Velero would refuse it"},
		"a backup whose deletion is requested": {func(b *sendBench) { b.deletionRequest("source", "") },
			"the deletion of backup source is requested (source-x): Velero deletes it while it is restored"},
		"a backup whose deletion has begun": {func(b *sendBench) { b.deletionRequest("source", "InProgress") },
			"the deletion of backup source is requested (source-x): Velero deletes it while it is restored"},
	} {
		if p := proposed(
			t,
			createSend,
			c.change,
		); p.IsPossible() || !strings.HasPrefix(p.Refusal, c.want) ||
			p.Advice == "" {
			t.Errorf("%s: %q, %q", name, p.Refusal, p.Advice)
		}
	}
	for name, change := range map[string]func(*sendBench){
		"as it is":           func(*sendBench) {},
		"of a failed backup": func(b *sendBench) { b.api.put(source, func(o map[string]any) { status(o, "PartiallyFailed") }) },
		"without a server":   func(b *sendBench) { b.api.delete("/api/v1/namespaces/velero/pods/velero-0") },
	} {
		if p := proposed(t, createSend, change); !p.IsPossible() || len(p.Facts()) < 4 {
			t.Errorf("%s: %q %v", name, p.Refusal, p.Facts())
		}
	}
}

// A backup that may go is restored, and the plan says so.
func TestRestoreOfABackupThatMayGo(t *testing.T) {
	for want, change := range map[string]func(*sendBench){
		"backup source has expired: Velero may delete it at any time": func(b *sendBench) {
			b.source(func(_, _, status map[string]any) {
				status["expiration"] = b.start.Add(-time.Hour).UTC().Format(time.RFC3339)
			})
		},
		"a deletion of backup source failed: part of its data may be gone": func(b *sendBench) {
			b.deletionRequest("source", "Processed", "no")
		},
		"cannot tell whether the deletion of backup source is requested": func(b *sendBench) {
			b.forbid("deletebackuprequests")
		},
	} {
		p := proposed(t, createSend, change)
		isSaid := slices.ContainsFunc(p.Facts(), func(f diagnosis.Fact) bool {
			return !f.Supports && strings.HasPrefix(f.Text, want)
		})
		if !p.IsPossible() || !isSaid {
			t.Errorf("%s: %q %v", want, p.Refusal, p.Facts())
		}
	}
}

// A Restore names its backup by the name alone: what becomes of the backup after the dry run stops the request.
func TestRestoreOfABackupThatGoes(t *testing.T) {
	for name, change := range map[string]func(*sendBench){
		"another has its name": func(b *sendBench) {
			b.source(func(metadata, _, _ map[string]any) { metadata["uid"] = "b-2" })
		},
		"it is gone":                func(b *sendBench) { b.api.delete(sourcePath) },
		"it is Deleting":            func(b *sendBench) { b.source(func(_, _, s map[string]any) { s["phase"] = "Deleting" }) },
		"its deletion is requested": func(b *sendBench) { b.deletionRequest("source", "New") },
	} {
		for _, step := range []string{"look", "dry run"} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(createSend)
				b.source(func(metadata, _, _ map[string]any) { metadata["uid"] = "b-1" })
				engine, p := b.planned(t, dir)
				if step == "look" {
					change(b)
				}
				b.api.tamper = func(at string, _ *http.Request, serve func() *http.Response) (*http.Response, error) {
					response := serve()
					if at == "dry run" && step == at {
						change(b)
					}
					return response, nil
				}
				outcome, _ := engine.ApplyPlan(t.Context(), p, false, nil)
				if n := len(
					b.api.landings(createSend.path),
				); n > 0 || outcome.Sent != NotSent ||
					outcome.State != StateChanged {
					t.Errorf(
						"%s after the %s: %d requests, %v %v %q",
						name,
						step,
						n,
						outcome.State,
						outcome.Sent,
						outcome.Message,
					)
				}
			})
		}
	}
}

// A backup is made from the schedule as it is when it is sent, or not at all if that has changed since.
func TestBackupOfAChangedSchedule(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(pauseSend)
		engine, err := New(b.options(dir))
		if err != nil {
			t.Fatal(err)
		}
		p, err := engine.ProposePlan(t.Context(), Create, NewScheduledBackup("nightly", "now"), Request{})
		if err != nil || !p.IsPossible() ||
			!strings.Contains(strings.Join(p.Will, "\n"), "with includedNamespaces: shop") ||
			len(p.Commands) != 1 {
			t.Fatalf("%q %q %q %v", p.Refusal, p.Will, p.Commands, err)
		}
		b.api.put(b.path, func(o map[string]any) {
			o["spec"].(map[string]any)["template"] = map[string]any{"includedNamespaces": []any{"other"}}
		})
		out, err := engine.ApplyPlan(t.Context(), p, false, nil)
		if err != nil || out.State != StateChanged || out.Sent != NotSent || b.api.get(fakeNamespace+"backups/now") != nil {
			t.Errorf("%s, %s: %s %v", out.State, out.Sent, out.Message, err)
		}
	})
}

// A backup has what is stored of the template, also fields of a newer Velero; annotations of veltui are its own.
func TestBackupOfASchedule(t *testing.T) {
	yes := true
	s := &veleroapi.Schedule{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   "velero",
			Name:        "nightly",
			UID:         "s-1",
			Labels:      map[string]string{"team": "a"},
			Annotations: map[string]string{"note": "b", lastAppliedAnnotation: "{}", "veltui.io/paused-by": "jane"},
		},
		Spec: veleroapi.ScheduleSpec{UseOwnerReferencesInBackup: &yes},
	}
	template := map[string]any{"includedNamespaces": []any{"shop"}, "filterToCome": "x"}
	made := func() *unstructured.Unstructured {
		c, err := newCreation(
			buildScheduledBackup(&proposal{schedule: s, template: template}, "now"),
			createdPrefix,
			attemptStamp{attempt: "1"},
			"because",
		)
		if err != nil {
			t.Fatal(err)
		}
		return c.targetObject()
	}
	b := made()
	notes := b.GetAnnotations()
	if notes["note"] != "b" || notes[lastAppliedAnnotation] != "" || notes["veltui.io/paused-by"] != "" || notes[createdPrefix.attemptKey()] == "" ||
		!maps.Equal(b.GetLabels(), map[string]string{"team": "a", veleroapi.ScheduleNameLabel: "nightly"}) ||
		len(b.GetOwnerReferences()) != 1 ||
		b.GetOwnerReferences()[0].UID != "s-1" ||
		!isSameJSON(b.Object["spec"], template) {
		t.Errorf("%+v", b)
	}
	s.Spec.Template.Labels = map[string]string{"own": "c"}
	if b := made(); !maps.Equal(b.GetLabels(), map[string]string{"own": "c", veleroapi.ScheduleNameLabel: "nightly"}) ||
		len(s.Spec.Template.Labels) != 1 {
		t.Errorf("%v", b.GetLabels())
	}
}

// What Velero would refuse of a backup's or restore's storage location, veltui does.
func TestCreateLooksAtTheLocation(t *testing.T) {
	for name, c := range map[string]struct {
		access, phase, backup, restore string
	}{
		"usable":      {"ReadWrite", "Available", "", ""},
		"read-only":   {"ReadOnly", "Available", "storage location default is read-only", ""},
		"unavailable": {"ReadWrite", "Unavailable", "storage location default is not available", "storage location default is not available"},
		"not checked": {"ReadWrite", "", "storage location default is not available", "storage location default is not available"},
	} {
		backup := pauseSend
		backup.plan = func(ctx context.Context, f *Engine) (Plan, error) {
			return f.ProposePlan(ctx, Create, NewScheduledBackup("nightly", "now"), Request{})
		}
		there := func(b *sendBench) {
			b.api.put(
				fakeNamespace+"backups/source",
				func(o map[string]any) { o["spec"] = map[string]any{"storageLocation": "default"} },
			)
			b.location(c.access, c.phase)
			b.api.put(backup.path, func(o map[string]any) {
				if o["kind"] == nil {
					fillSchedule(o, b.start, "s-1")
				}
				o["spec"] = map[string]any{
					"schedule": "0 1 * * *",
					"template": map[string]any{"storageLocation": "default"},
				}
			})
		}
		for what, got := range map[string][2]string{"backup": {proposed(t, backup, there).Refusal, c.backup}, "restore": {proposed(t, createSend, there).Refusal, c.restore}} {
			if got[1] == "" && got[0] != "" || !strings.HasPrefix(got[0], got[1]) {
				t.Errorf("%s, %s: %q", name, what, got[0])
			}
		}
	}
	gone := func(b *sendBench) {
		b.api.put(
			fakeNamespace+"backups/source",
			func(o map[string]any) { o["spec"] = map[string]any{"storageLocation": "default"} },
		)
	}
	if p := proposed(
		t,
		createSend,
		gone,
	); p.Refusal != "storage location default does not exist: Velero would refuse it" {
		t.Errorf("%q", p.Refusal)
	}
}

// A restore from a schedule is of its newest completed backup, and of nothing without one.
func TestRestoreFromASchedule(t *testing.T) {
	from := createSend
	from.plan = func(ctx context.Context, f *Engine) (Plan, error) {
		o := NewNamedObject("Restore", "r")
		o.Object["spec"] = map[string]any{"scheduleName": "nightly"}
		return f.ProposePlan(ctx, Create, o, Request{})
	}
	if p := proposed(
		t,
		from,
		func(*sendBench) {},
	); p.Refusal != "schedule nightly has no completed backup: Velero would refuse the restore" ||
		p.Advice == "" {
		t.Errorf("%q", p.Refusal)
	}
	p := proposed(t, from, func(b *sendBench) {
		for name, began := range map[string]string{"nightly-1": "2026-11-19T01:00:00Z", "nightly-2": "2026-11-20T01:00:00Z"} {
			b.api.put(fakeNamespace+"backups/"+name, func(o map[string]any) {
				o["apiVersion"], o["kind"] = "velero.io/v1", "Backup"
				o["metadata"] = map[string]any{
					"name":      name,
					"namespace": "velero",
					"labels":    map[string]any{veleroapi.ScheduleNameLabel: "nightly"},
				}
				o["spec"], o["status"] = map[string]any{
					"storageLocation": "default",
				}, map[string]any{
					"phase":          "Completed",
					"startTimestamp": began,
				}
			})
		}
		b.location("ReadWrite", "Available")
	})
	if !p.IsPossible() || !strings.Contains(fmt.Sprint(p.Facts()), "now that is nightly-2") {
		t.Errorf("%q %v", p.Refusal, p.Facts())
	}
}

// Who may not read the object sees why the action is unavailable, and which right would help.
func TestProposeWithoutTheRightToRead(t *testing.T) {
	p := proposed(t, pauseSend, func(b *sendBench) {
		b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/schedules/nightly") {
				return statusAnswer(r, 403, "Forbidden"), nil
			}
			return serve(), nil
		}
	})
	if !strings.HasPrefix(p.Refusal, "you may not get schedules.velero.io") ||
		!strings.Contains(p.Advice, "--with pause-schedules") {
		t.Errorf("%q, %q", p.Refusal, p.Advice)
	}
}

// What follows once a schedule goes on.
func TestFirstRun(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	yes, no := true, false
	for name, c := range map[string]struct {
		cron   string
		last   time.Time
		skips  *bool
		holdup string
		skip   bool
		want   string
	}{
		"due":                       {"0 1 * * *", at.Add(-48 * time.Hour), &no, "", false, "a run is due since Nov 19 01:00, if its server's time zone is UTC: Velero starts it within a minute; veltui schedule unpause --skip"},
		"due, in a zone":            {"CRON_TZ=UTC 0 1 * * *", at.Add(-48 * time.Hour), &no, "", false, "a run is due since Nov 19 01:00: Velero starts it within a minute"},
		"due, by default":           {"0 1 * * *", at.Add(-48 * time.Hour), nil, "", false, "a run is due since Nov 19 01:00, if its server's time zone is UTC: Velero starts it within a minute, unless"},
		"due, and held up":          {"0 1 * * *", at.Add(-48 * time.Hour), &no, "b-1", false, "a run is due since Nov 19 01:00, if its server's time zone is UTC: Velero starts it once backup b-1 has ended"},
		"due, and left out":         {"0 1 * * *", at.Add(-48 * time.Hour), &no, "", true, "the next run is at Nov 21 01:00"},
		"an interval, and left out": {"@every 1h", at.Add(-48 * time.Hour), &no, "", true, "the next run is one interval after Velero sees it: @every 1h"},
		"due, and to be left out":   {"0 1 * * *", at.Add(-48 * time.Hour), &yes, "", false, "the next run is at Nov 21 01:00"},
		"not due":                   {"0 13 * * *", at.Add(-2 * time.Hour), &no, "", false, "the next run is at 13:00"},
		"never":                     {"0 0 31 2 *", at.Add(-2 * time.Hour), &no, "", false, "it makes a backup about once a minute"},
		"what Velero does not read": {"now and then", at, &no, "", false, "it makes no backup: "},
	} {
		last := metav1.NewTime(c.last)
		o := &proposal{
			blockingBackup: c.holdup,
			schedule: &veleroapi.Schedule{
				Spec:   veleroapi.ScheduleSpec{Schedule: c.cron, SkipImmediately: c.skips},
				Status: veleroapi.ScheduleStatus{LastBackup: &last},
			},
		}
		got, startsRun := describeFirstRun(o, at, c.skip)
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		wantsRun := strings.Contains(c.want, "Velero starts it") || strings.HasPrefix(c.want, "it makes a backup")
		if startsRun != wantsRun {
			t.Errorf("%s: starts a run: %v", name, startsRun)
		}
	}
}

// What follows is the same a few minutes later, when the person has read it and typed the name: else nothing is written.
func TestUnpauseAfterSomeThought(t *testing.T) {
	for _, cron := range []string{"@every 1h", "0 1 * * *"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(unpauseSend)
			b.api.put(b.path, func(o map[string]any) { o["spec"].(map[string]any)["schedule"] = cron })
			engine, p := b.planned(t, dir)
			time.Sleep(3 * time.Minute)
			out, err := engine.ApplyPlan(t.Context(), p, false, nil)
			if err != nil || out.State != StateSettled || out.Sent != Landed {
				t.Errorf("%s: %s, %s: %s %v", cron, out.State, out.Sent, out.Message, err)
			}
		})
	}
}

// A creation that was interrupted is looked up afterwards, by its mark.
func TestSettleCreation(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		later  func(*sendBench)
		want   SentState
		known  bool
	}{
		"it was made":              {"very late", func(*sendBench) { time.Sleep(3 * time.Minute) }, Landed, true},
		"it was not seen":          {"silence", func(*sendBench) {}, Doubtful, false},
		"another has the name":     {"silence", func(b *sendBench) { b.other(true) }, Doubtful, false},
		"not seen, a day later":    {"silence", func(*sendBench) { time.Sleep(25 * time.Hour) }, Doubtful, true},
		"it was made, and is gone": {"very late", func(b *sendBench) { time.Sleep(3 * time.Minute); b.api.delete(b.path) }, Doubtful, false},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(createSend)
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
				!strings.Contains(unfinished[0].FormatSummary(time.Now()), "create restore/new") {
				t.Fatalf("%s: %v %v", name, unfinished, err)
			}
			fate, err := engine.SettleAttempt(t.Context(), &unfinished[0])
			if err != nil || fate.Sent != c.want || fate.IsKnown != c.known {
				t.Errorf("%s: %+v %v", name, fate, err)
			}
		})
	}
}

// TestOneLine: formatSpecValue writes whatever a spec may hold in one line.
func TestOneLine(t *testing.T) {
	for want, value := range map[string]any{"a, b": []any{"a", "b"}, "{k: v, l: 1}": map[string]any{"l": int64(1), "k": "v"}, "true": true, "a�b": "a\x1bb"} {
		if got := formatSpecValue(value); got != want && !strings.ContainsAny(want, "�") {
			t.Errorf("%q, want %q", got, want)
		} else if strings.Contains(got, "\x1b") {
			t.Errorf("%q", got)
		}
	}
}
