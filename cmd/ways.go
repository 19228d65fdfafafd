package cmd

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/sanitize"
)

// wayJSON is one way out other than writing a phase.
type wayJSON struct {
	Action  finalize.WayAction `json:"action"`
	Title   string             `json:"title"`
	Why     string             `json:"why"`
	Will    []string           `json:"will,omitempty"`
	WillNot []string           `json:"willNot,omitempty"`
	Then    []string           `json:"then,omitempty"`
	// Commands are the kubectl commands that do the same.
	Commands []string `json:"commands,omitempty"`
	// Volumes are cancelled, and Fails would be marked Failed, as KIND/NAME.
	Volumes []string `json:"volumes,omitempty"`
	Fails   []string `json:"fails,omitempty"`
	// CanTake is false, with Refusal, for what veltui does not do itself.
	CanTake bool   `json:"canTake"`
	Refusal string `json:"refusal,omitempty"`
	Advice  string `json:"advice,omitempty"`
}

func waysOf(ways []finalize.Way) []wayJSON {
	var out []wayJSON
	for i := range ways {
		w := &ways[i]
		j := wayJSON{Action: w.Action, Title: w.Title, Why: w.Why, Will: w.Will, WillNot: w.WillNot, Then: w.Then,
			Commands: w.Commands, Fails: w.Fails, CanTake: w.CanTake(), Refusal: w.Refusal, Advice: w.Advice}
		for _, v := range w.Volumes {
			j.Volumes = append(j.Volumes, strings.ToLower(string(v.Kind))+"/"+v.Name)
		}
		out = append(out, j)
	}
	return out
}

// flag is the flag of finalize that takes a way.
var wayFlags = map[finalize.WayAction]string{finalize.Wake: "--wake", finalize.CancelVolumes: "--cancel-volumes"}

// ways lists the other ways out, each with its commands.
func (l *lines) ways(ways []finalize.Way) {
	for i := range ways {
		w := &ways[i]
		title := "\nanother way out: %s"
		if i > 0 {
			title = "\nor: %s"
		}
		l.add(title, w.Title)
		l.add("  %s", w.Why)
		l.consequences(w, "  ")
		if w.Refusal != "" {
			l.add("  %s. %s", w.Refusal, w.Advice)
		} else {
			l.add("  veltui finalize %s/%s %s, or:", strings.ToLower(string(w.Kind)), w.Name, wayFlags[w.Action])
		}
		for _, c := range w.Commands {
			l.command("  ", c)
		}
	}
}

func (l *lines) consequences(w *finalize.Way, indent string) {
	for _, part := range []struct {
		title string
		items []string
	}{{"it will", w.Will}, {"it will not", w.WillNot}, {"then", w.Then}} {
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

// way shows evidence and what is going to be done.
func (f *finalizePrinter) way(p *finalize.Plan, w *finalize.Way) error {
	if f.preview == nil {
		return nil
	}
	l := lines{w: f.preview}
	l.add("%s for %s %s/%s", w.Action, strings.ToLower(string(p.Kind)), p.Namespace, p.Name)
	evidence := p.Evidence()
	l.facts(p.Facts(), evidence.At)
	if !w.CanTake() {
		l.add("\nrefused: %s", w.Refusal)
		if w.Advice != "" {
			l.add("what would help: %s", w.Advice)
		}
		return l.err
	}
	l.add("\nso: %s", w.Why)
	l.list("it will", w.Will)
	l.list("it will not", w.WillNot)
	l.list("and then", w.Then)
	l.add("\nequivalent commands:")
	for _, c := range w.Commands {
		l.command("", c)
	}
	return l.err
}

func (f *finalizePrinter) wayOutcome(p *finalize.Plan, w *finalize.Way, o *finalize.Outcome, err error) error {
	if f.output != "text" {
		return f.document(p, o, err)
	}
	if !w.CanTake() {
		return nil // has been said
	}
	l := lines{w: f.out}
	l.add("\n%s: %s", o.State, o.Message)
	l.records(o)
	return l.err
}
