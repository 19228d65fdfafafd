package cmd

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/sanitize"
)

// remedyJSON is a plan other than that of finalizing.
type remedyJSON struct {
	Action  action.Name `json:"action"`
	Title   string      `json:"title"`
	Why     string      `json:"why"`
	Will    []string    `json:"will,omitempty"`
	WillNot []string    `json:"willNot,omitempty"`
	Then    []string    `json:"then,omitempty"`
	// Commands are the kubectl commands that do the same.
	Commands []string `json:"commands,omitempty"`
	// Volumes are cancelled, and Fails would be marked Failed, as KIND/NAME.
	Volumes []string `json:"volumes,omitempty"`
	Fails   []string `json:"fails,omitempty"`
	// Possible is false, with Refusal, for what veltui does not do itself.
	Possible bool   `json:"canTake"`
	Refusal  string `json:"refusal,omitempty"`
	Advice   string `json:"advice,omitempty"`
}

func remediesOf(plans []action.Plan) []remedyJSON {
	var out []remedyJSON
	for i := range plans {
		w := &plans[i]
		j := remedyJSON{Action: w.Action, Title: w.Title, Why: w.Why, Will: w.Will, WillNot: w.WillNot, Then: w.Then,
			Commands: w.Commands, Fails: w.Fails, Possible: w.Possible(), Refusal: w.Refusal, Advice: w.Advice}
		for _, v := range w.Volumes {
			j.Volumes = append(j.Volumes, strings.ToLower(string(v.Kind))+"/"+v.Name)
		}
		out = append(out, j)
	}
	return out
}

// actionFlags are the flags of finalize that ask for another action.
var actionFlags = map[action.Name]string{action.Wake: "--wake", action.CancelVolumes: "--cancel-volumes"}

// remedies lists what else the evidence calls for, each with its commands, but
// for the action that was asked for.
func (l *lines) remedies(plans []action.Plan, asked action.Name) {
	title := "\noption: %s"
	for i := range plans {
		w := &plans[i]
		if w.Action == asked {
			continue
		}
		l.add(title, w.Title)
		title = "\nanother option: %s"
		l.add("  %s", w.Why)
		l.consequences(w, "  ")
		if w.Refusal != "" {
			l.add("  %s. %s", w.Refusal, w.Advice)
		} else {
			l.command("  ", w.Veltui("finalize", w.Kind.Word()+"/"+w.Name, actionFlags[w.Action]))
			l.add("  or:")
		}
		for _, c := range w.Commands {
			l.command("  ", c)
		}
	}
}

func (l *lines) consequences(w *action.Plan, indent string) {
	for _, part := range []struct {
		title string
		items []string
	}{{"it will", w.Will}, {"it will not", w.WillNot}, {"afterwards", w.Then}} {
		for _, item := range part.items {
			l.add("%s- %s: %s", indent, part.title, item)
		}
	}
}

// command writes a command that can be copied whole: it is never shortened.
func (l *lines) command(indent, command string) {
	if l.err == nil {
		_, l.err = fmt.Fprintln(l.w, indent+sanitize.Whole(command))
	}
}
