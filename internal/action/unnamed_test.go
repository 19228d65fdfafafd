package action

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// After a lost answer no second object is created under a default name, which is another each second. What was made in
// the meantime is told once; other names and other sources are not held up.
func TestUnnamedAfterALostAnswer(t *testing.T) {
	const backup, restore = "backups/nightly-20261127100000", "restores/source-20261127100000"
	send := func(path string) sendAction {
		kind, name, _ := strings.Cut(path, "/")
		source, _, _ := strings.Cut(name, "-")
		a := backupSend
		a.plan = func(ctx context.Context, f *Engine) (Plan, error) {
			return f.ProposePlan(ctx, Create, NewScheduledBackup(source, name), Request{NameGenerated: strings.Contains(name, "-20")})
		}
		if kind == "restores" {
			a = createSend
			a.plan = func(ctx context.Context, f *Engine) (Plan, error) {
				o := NewNamedObject("Restore", name)
				o.Object["spec"] = map[string]any{"backupName": source}
				return f.ProposePlan(ctx, Create, o, Request{NameGenerated: true})
			}
		}
		a.path = fakeNamespace + path
		return a
	}
	refused := func(what string) string { return "an earlier attempt has created " + what + ", or may have" }
	ofBackup, ofRestore := refused("backup nightly-20261127100000"), refused("restore source-20261127100000")
	for name, c := range map[string]struct {
		sent, answer, asked string
		want                string // the refusal, empty if it is made
		again               string // of the next try
	}{
		"not made yet":         {backup, "silence", "backups/nightly-20261127100003", ofBackup, ofBackup},
		"made late":            {backup, "very late", "backups/nightly-20261127100003", ofBackup, ""},
		"of another schedule":  {backup, "silence", "backups/weekly-20261127100003", "", ""},
		"with a name":          {backup, "silence", "backups/nightly-again", "", ""},
		"with the same name":   {backup, "silence", backup, "", ""},
		"a restore":            {restore, "silence", "restores/source-20261127100003", ofRestore, ofRestore},
		"of another backup":    {restore, "silence", "restores/other-20261127100003", "", ""},
		"a backup, no restore": {restore, "silence", "backups/nightly-20261127100003", "", ""},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(send(c.sent))
			b.api.put(fakeNamespace+"schedules/weekly", func(o map[string]any) {
				fillSchedule(o, b.start, "s-2")
				o["metadata"].(map[string]any)["name"] = "weekly"
			})
			source := b.api.get(fakeNamespace + "backups/source")
			b.api.put(fakeNamespace+"backups/other", func(o map[string]any) { maps.Copy(o, source.Object) })
			engine, p := b.planned(t, dir)
			ctx, cancel := context.WithCancelCause(t.Context())
			b.cancel = cancel
			sendCase{"write", c.answer, "read", "lost", "ctrl+c"}.tamper(b)
			if out, _ := engine.ApplyPlan(ctx, p, false, nil); out.Sent != Doubtful {
				t.Fatalf("%s: %s, %s: %s", name, out.State, out.Sent, out.Message)
			}
			b.api.tamper = nil
			time.Sleep(3 * time.Minute)
			for _, want := range []string{c.want, c.again} {
				p, err := send(c.asked).plan(t.Context(), engine)
				switch {
				case err != nil || p.Refusal != want:
					t.Errorf("%s: %q %v, want %q", name, p.Refusal, err, want)
				case want == "" && !p.IsPossible() || want != "" && (len(p.Will)+len(p.Commands) > 0 || !strings.Contains(p.Advice, "Give that NAME")):
					t.Errorf("%s: %q %q %q", name, p.Will, p.Commands, p.Advice)
				}
			}
		})
	}
}
