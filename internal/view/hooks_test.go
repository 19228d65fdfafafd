package view

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestHookCounts(t *testing.T) {
	for failed, tone := range map[int]Tone{0: Plain, 2: Bad} {
		c := NewHookCounts(&veleroapi.HookStatus{HooksAttempted: 4, HooksFailed: failed})
		if c.Attempted.Text.Text != "4" || c.Failed.Text.Text != string(rune('0'+failed)) || c.Failed.Tone != tone {
			t.Errorf("%d failed: %+v", failed, c)
		}
	}
}

// TestHookGroups names the pods of hooks, then each hook.
func TestHookGroups(t *testing.T) {
	minute := metav1.Duration{Duration: time.Minute}
	backup := BackupHooks(veleroapi.BackupHooks{Resources: []veleroapi.BackupResourceHookSpec{{
		Name: "freeze", ExcludedNamespaces: []string{"c"},
		PreHooks: []veleroapi.BackupResourceHook{{
			Exec: &veleroapi.ExecHook{Container: "db", Command: []string{"fsfreeze", "-f"}, OnError: "Fail", Timeout: minute},
		}, {}},
		PostHooks: []veleroapi.BackupResourceHook{{Exec: &veleroapi.ExecHook{Command: []string{"thaw"}}}},
	}}})
	restore := RestoreHooks(veleroapi.RestoreHooks{Resources: []veleroapi.RestoreResourceHookSpec{{
		IncludedResources: []string{"pods"},
		LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		PostHooks: []veleroapi.RestoreResourceHook{
			{Exec: &veleroapi.ExecRestoreHook{Command: []string{"warm"}, WaitTimeout: minute}},
			{Init: &veleroapi.InitRestoreHook{
				Timeout: minute,
				InitContainers: []runtime.RawExtension{
					{Raw: []byte(`{"name":"i","image":"img"}`)}, {Raw: []byte(`[`)},
				},
			}},
		},
	}}})
	for _, c := range []struct {
		groups []HookGroup
		name   string
		want   []string
	}{
		{backup, "freeze", []string{
			"namespaces * but not c", "resources *", "labels none",
			"before: fsfreeze -f (container db, on error Fail, timeout 1m)", "after: thaw",
		}},
		{restore, "(no name)", []string{
			"namespaces *", "resources pods", "labels app=web",
			"after: warm (wait 1m)", "init containers: i (img), (unreadable), timeout 1m",
		}},
	} {
		if len(c.groups) != 1 || c.groups[0].Name != c.name || !slices.Equal(c.groups[0].Lines, c.want) {
			t.Errorf("%q, want %s: %q", c.groups, c.name, c.want)
		}
	}
}
