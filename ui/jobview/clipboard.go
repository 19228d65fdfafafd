package jobview

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/keys"
)

// Noticed is a sentence for the user that stays until the next key.
type Noticed struct{ Text string }

// MaxCopied is how many bytes are copied at once (terminal.MaxClipboard).
const MaxCopied = 70_000

func noticed(text string) tea.Cmd { return func() tea.Msg { return Noticed{text} } }

// copyText sends text to the terminal's clipboard, and says so, or why not; instead helps where it is too long.
// Whether the terminal takes it is unknown: OSC 52 has no answer.
func (s *Sources) copyText(what, text, instead string) tea.Cmd {
	switch n := len(text); {
	case n == 0:
		return noticed("There is nothing to copy here.")
	case s.WhyNoClipboard != "":
		return noticed("Not copied: " + s.WhyNoClipboard)
	case n > MaxCopied:
		return noticed(fmt.Sprintf("Not copied: %s has %s, and a terminal's clipboard takes %s at a time. %s", what, human.Bytes(int64(n)), human.Bytes(MaxCopied), instead))
	default:
		return tea.Batch(tea.SetClipboard(text), noticed(fmt.Sprintf("Sent to the terminal's clipboard: %s, %s.", what, human.Count(n, "byte"))))
	}
}

// copyKeys are y for what is selected, and Y for a whole page. Each function gives a name and a text without
// styles; on says whether there is anything, nil for always.
func copyKeys(s *Screen, on func() bool, selected, all func() (what, text string)) []keys.Binding {
	copied := func(of func() (what, text string), instead func() string) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			what, text := of()
			return s.sources.copyText(what, strings.TrimRight(text, "\n"), instead())
		}
	}
	inParts := func() string { return "Copy it in parts with your terminal." }
	byLine := func() string { return "Copy lines with " + s.sources.Keys.Key("copy") + "." }
	return []keys.Binding{
		{Name: "copy", Keys: []string{"y"}, Label: "y", What: "copy line", Group: keys.Look, On: on, Do: copied(selected, inParts)},
		{Name: "copy-all", Keys: []string{"Y"}, Label: "Y", What: "copy all", Group: keys.Look, On: on, Do: copied(all, byLine)},
	}
}
