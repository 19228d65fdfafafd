package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// HookCounts describes how many hooks Velero ran in pods and as init containers.
type HookCounts struct {
	Attempted, Failed PageField
}

// NewHookCounts describes the counters of a job's hooks.
func NewHookCounts(status *veleroapi.HookStatus) HookCounts {
	counts := HookCounts{
		Attempted: PageField{Label: "Hooks attempted", Text: Toned(Plain, fmt.Sprint(status.HooksAttempted))},
		Failed:    PageField{Label: "Hooks failed", Text: Toned(Plain, fmt.Sprint(status.HooksFailed))},
	}
	if status.HooksFailed > 0 {
		counts.Failed.Tone = Bad
	}
	return counts
}

// HookGroup describes hooks that a spec has for the same pods.
type HookGroup struct {
	Name  string
	Lines []string // the pods, then a line a hook
}

// NoHooks replaces the hooks of a spec that has none, NoHooksNote says what the spec does not.
const (
	NoHooks     = none
	NoHooksNote = "pods may have some in their annotations"
)

// BackupHooks describes the hooks of a backup's spec.
func BackupHooks(hooks veleroapi.BackupHooks) (groups []HookGroup) {
	for _, h := range hooks.Resources {
		g := newHookGroup(h.Name, h.LabelSelector, [2][]string{h.IncludedNamespaces, h.ExcludedNamespaces},
			[2][]string{h.IncludedResources, h.ExcludedResources})
		for _, hook := range h.PreHooks {
			g.addBackupHook("before", hook.Exec)
		}
		for _, hook := range h.PostHooks {
			g.addBackupHook("after", hook.Exec)
		}
		groups = append(groups, g)
	}
	return groups
}

// RestoreHooks describes the hooks of a restore's spec.
func RestoreHooks(hooks veleroapi.RestoreHooks) (groups []HookGroup) {
	for _, h := range hooks.Resources {
		g := newHookGroup(h.Name, h.LabelSelector, [2][]string{h.IncludedNamespaces, h.ExcludedNamespaces},
			[2][]string{h.IncludedResources, h.ExcludedResources})
		for _, hook := range h.PostHooks {
			if e := hook.Exec; e != nil {
				g.addCommand("after", e.Container, e.Command, e.OnError,
					hookTime{"timeout", e.ExecTimeout}, hookTime{"wait", e.WaitTimeout})
			}
			if hook.Init != nil {
				g.Lines = append(g.Lines, initHookText(hook.Init))
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// newHookGroup returns a group without hooks; namespaces and resources are those included and those excluded.
func newHookGroup(name string, labels *metav1.LabelSelector, namespaces, resources [2][]string) HookGroup {
	return HookGroup{cmp.Or(name, "(no name)"), []string{
		"namespaces " + FilterText(namespaces[0], namespaces[1]),
		"resources " + FilterText(resources[0], resources[1]),
		"labels " + cmp.Or(SelectorText(labels), none),
	}}
}

func (g *HookGroup) addBackupHook(when string, e *veleroapi.ExecHook) {
	if e != nil {
		g.addCommand(when, e.Container, e.Command, e.OnError, hookTime{"timeout", e.Timeout})
	}
}

// hookTime is how long Velero waits for a hook, zero for the default.
type hookTime struct {
	name string
	metav1.Duration
}

// addCommand adds a command that runs in a container.
func (g *HookGroup) addCommand(
	when, container string,
	command []string,
	onError veleroapi.HookErrorMode,
	times ...hookTime,
) {
	about := human.Prefixed(", container ", container) + human.Prefixed(", on error ", string(onError))
	for _, t := range times {
		about += human.Prefixed(", "+t.name+" ", ExactDuration(t.Duration.Duration))
	}
	line := when + ": " + strings.Join(command, " ") + human.InParens(strings.TrimPrefix(about, ", "))
	g.Lines = append(g.Lines, line)
}

func initHookText(hook *veleroapi.InitRestoreHook) string {
	var names []string
	for _, raw := range hook.InitContainers {
		var container struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		}
		if err := json.Unmarshal(raw.Raw, &container); err != nil {
			names = append(names, "(unreadable)")
			continue
		}
		names = append(names, container.Name+" ("+container.Image+")")
	}
	timeout := human.Prefixed(", timeout ", ExactDuration(hook.Timeout.Duration))
	return "init containers: " + strings.Join(names, ", ") + timeout
}

// FilterText returns the names that a filter includes and excludes.
func FilterText(included, excluded []string) string {
	return cmp.Or(strings.Join(included, ", "), "*") + human.Prefixed(" but not ", strings.Join(excluded, ", "))
}

// SelectorText formats a label selector; it is empty for no selector.
func SelectorText(s *metav1.LabelSelector) string {
	if s == nil {
		return ""
	}
	return metav1.FormatLabelSelector(s)
}

// ExactDuration formats a duration exactly, without parts that are zero: 720h, 1h30m; it is empty for 0.
func ExactDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
