package resource

import (
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/watch"
)

func notes(found []assess.Note, malformed *watch.Malformed) []view.Text {
	var texts []view.Text
	if malformed != nil {
		for _, f := range malformed.Fields {
			texts = append(
				texts,
				view.Toned(
					view.Bad,
					"Malformed: "+f.String()+". It counts as not set here; Velero itself may see nothing of this kind until "+
						"you correct it.",
				),
			)
		}
	}
	styles := map[assess.Mood]view.Tone{assess.Alarming: view.Bad, assess.Unusual: view.Waiting}
	for _, n := range found {
		texts = append(texts, view.Toned(styles[n.Mood], n.Text))
	}
	return texts
}

// tooOld counts backups that are left out, if any.
func tooOld(n int) []view.Text {
	if n == 0 {
		return nil
	}
	return []view.Text{
		view.Toned(view.Dim, human.Count(n, "backup")+" ended too long ago to be shown (--ended-within)."),
	}
}

// sections are what describe says, with labels in lower case. state stands in place of the phase, unless it is empty.
func sections(described []describe.Section, state view.Text) []view.Section {
	found := make([]view.Section, len(described))
	for i, s := range described {
		found[i].Title = human.Capital(s.Title)
		for _, f := range s.Fields {
			field := f.Labelled()
			if !strings.HasPrefix(f.Name, "config.") { // whose keys are as they are
				field.Label = label(f.Title)
			}
			if f.Name == "phase" && state.Text != "" {
				field.Text = state
			}
			found[i].Fields = append(found[i].Fields, field)
		}
	}
	return found
}

// label is a title in lower case, unless it begins with an abbreviation.
func label(title string) string {
	if len(title) > 1 && title[1] >= 'A' && title[1] <= 'Z' {
		return title
	}
	return strings.ToLower(title)
}

func plain(label, text string) view.Field {
	return view.Field{Label: label, Text: view.Text{Text: text}}
}

// known is a duration, empty for none.
func known(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return human.Duration(d)
}
