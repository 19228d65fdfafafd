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

func noteTexts(found []assess.Note, malformed *watch.MalformedObject) []view.Text {
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
	styles := map[assess.Tone]view.Tone{assess.Alarming: view.Bad, assess.Unusual: view.Waiting}
	for _, n := range found {
		texts = append(texts, view.Toned(styles[n.Tone], n.Text))
	}
	return texts
}

// agedOutNote returns a note with the number of backups left out, if any.
func agedOutNote(n int) []view.Text {
	if n == 0 {
		return nil
	}
	return []view.Text{
		view.Toned(view.Dim, human.Count(n, "backup")+" ended too long ago to be shown (--ended-within)."),
	}
}

// pageSections returns the described sections, with labels in lower case. state replaces the phase, unless it is
// empty.
func pageSections(described []describe.Section, state view.Text) []view.PageSection {
	found := make([]view.PageSection, len(described))
	for i, s := range described {
		found[i].Title = human.Capitalize(s.Title)
		for _, f := range s.Fields {
			field := f.PageField()
			if !strings.HasPrefix(f.Name, "config.") { // keys of the configuration keep their case
				field.Label = fieldLabel(f.Title)
			}
			if f.Name == "phase" && state.Text != "" {
				field.Text = state
			}
			found[i].Fields = append(found[i].Fields, field)
		}
	}
	return found
}

// fieldLabel returns a title in lower case, unless it begins with an abbreviation.
func fieldLabel(title string) string {
	if len(title) > 1 && title[1] >= 'A' && title[1] <= 'Z' {
		return title
	}
	return strings.ToLower(title)
}

func plainField(label, text string) view.PageField {
	return view.PageField{Label: label, Text: view.Text{Text: text}}
}

// durationText formats a duration; it is empty for 0 and below.
func durationText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return human.Duration(d)
}
