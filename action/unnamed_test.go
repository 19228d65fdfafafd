package action

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// After a lost answer no second object is created under a default name, which is another each second. What was made in
// the meantime is told once; other names and other sources are not held up.
func TestUnnamedAfterALostAnswer(t *testing.T) {
	propose := func(o *unstructured.Unstructured, r Request) func(context.Context, *Engine) (Plan, error) {
		return func(ctx context.Context, f *Engine) (Plan, error) { return f.Propose(ctx, Create, o, r) }
	}
	restoreOf := func(name, backup string) *unstructured.Unstructured {
		o := Named("Restore", name)
		o.Object["spec"] = map[string]any{"backupName": backup}
		return o
	}
	for name, c := range map[string]struct {
		send   sendAction
		answer string
		asked  *unstructured.Unstructured
		named  bool
		want   string // of the refusal, empty if it is made
		again  string // of the next try
	}{
		"not made yet":         {backupSend, "silence", BackupOf("nightly", "later"), false, "an earlier attempt has created backup now, or may have", "an earlier attempt has created backup now, or may have"},
		"made late":            {backupSend, "very late", BackupOf("nightly", "later"), false, "an earlier attempt has created backup now, or may have", ""},
		"of another schedule":  {backupSend, "silence", BackupOf("weekly", "later"), false, "", ""},
		"with a name":          {backupSend, "silence", BackupOf("nightly", "later"), true, "", ""},
		"with the same name":   {backupSend, "silence", BackupOf("nightly", "now"), false, "", ""},
		"a restore":            {createSend, "silence", restoreOf("later", "source"), false, "an earlier attempt has created restore new, or may have", "an earlier attempt has created restore new, or may have"},
		"of another backup":    {createSend, "silence", restoreOf("later", "other"), false, "", ""},
		"a backup, no restore": {createSend, "silence", BackupOf("nightly", "later"), false, "", ""},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(c.send)
			b.api.put(fakeNamespace+"schedules/weekly", func(o map[string]any) {
				fillSchedule(o, b.start, "s-2")
				o["metadata"].(map[string]any)["name"] = "weekly"
			})
			source := b.api.get(fakeNamespace + "backups/source")
			b.api.put(fakeNamespace+"backups/other", func(o map[string]any) { maps.Copy(o, source.Object) })
			engine, err := New(b.options(dir))
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
			if out, _ := engine.Apply(ctx, p, false, nil); out.Sent != Doubtful {
				t.Fatalf("%s: %s, %s: %s", name, out.State, out.Sent, out.Message)
			}
			b.api.tamper = nil
			time.Sleep(3 * time.Minute)
			for _, want := range []string{c.want, c.again} {
				p, err := propose(c.asked, Request{Unnamed: !c.named})(t.Context(), engine)
				switch {
				case err != nil || p.Refusal != want:
					t.Errorf("%s: %q %v, want %q", name, p.Refusal, err, want)
				case want == "" && !p.Possible() || want != "" && (len(p.Will)+len(p.Commands) > 0 || !strings.Contains(p.Advice, "Give that NAME")):
					t.Errorf("%s: %q %q %q", name, p.Will, p.Commands, p.Advice)
				}
			}
		})
	}
}
