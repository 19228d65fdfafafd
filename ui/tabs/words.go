package tabs

import (
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/watch"
)

func notes(found []assess.Note, malformed *watch.Malformed) []detail.Text {
	var texts []detail.Text
	if malformed != nil {
		for _, f := range malformed.Fields {
			texts = append(
				texts,
				detail.Styled(
					detail.Bad,
					"Malformed: "+f.String()+". It counts as not set here; Velero itself may see nothing of this kind until "+
						"you correct it.",
				),
			)
		}
	}
	styles := map[assess.Mood]detail.Style{assess.Alarming: detail.Bad, assess.Unusual: detail.Waiting}
	for _, n := range found {
		texts = append(texts, detail.Styled(styles[n.Mood], n.Text))
	}
	return texts
}

// tooOld counts backups that are left out, if any.
func tooOld(n int) []detail.Text {
	if n == 0 {
		return nil
	}
	return []detail.Text{
		detail.Styled(detail.Dim, human.Count(n, "backup")+" ended too long ago to be shown (--ended-within)."),
	}
}

// sections are what describe says, with labels in lower case. state stands in place of the phase, unless it is empty.
func sections(described []describe.Section, state detail.Text) []detail.Section {
	found := make([]detail.Section, len(described))
	for i, s := range described {
		found[i].Title = human.Capital(s.Title)
		for _, f := range s.Fields {
			field := detail.Described(f)
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

func plain(label, text string) detail.Field {
	return detail.Field{Label: label, Text: detail.Text{Text: text}}
}

// known is a duration, empty for none.
func known(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return human.Duration(d)
}

func until(t, now time.Time, unknown string) string {
	switch {
	case t.IsZero():
		return unknown
	case !t.After(now):
		return "now"
	}
	return human.Duration(t.Sub(now))
}
