package terminal

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Kind is a family of terminals. Most families take or ignore everything that Bubble Tea sends; others print it.
type Kind int

const (
	Xterm Kind = iota // all terminals of no other kind
	// Console is the Linux console and similar terminals: sixteen colours, often no alternate screen (man 4
	// console_codes).
	Console
	// VT is a VT100 to VT525, or a serial console. It needs the features of the VT102 and VT220: inserting, deleting, a
	// hidden cursor.
	VT
	Dumb // cannot move its cursor
)

func DetectKind(term string) Kind {
	family, _, _ := strings.Cut(term, "-")
	switch {
	case family == "dumb", family == "unknown":
		return Dumb
	case strings.HasPrefix(family, "vt") && len(family) > 2 && family[2] >= '1' && family[2] <= '5':
		return VT
	case slices.Contains([]string{"linux", "ansi", "pcansi", "cons25", "hurd"}, family):
		return Console
	}
	return Xterm
}

func (k Kind) HasColors() bool { return k == Xterm || k == Console }
func (k Kind) HasUTF8() bool   { return k == Xterm } // the Linux console has at most 512 characters
func (k Kind) HasWindow() bool { return k == Xterm } // a title, a progress indicator and a clipboard

// limitProfile returns the best colour profile that the kind supports, at most the given one from the environment.
func (k Kind) limitProfile(profile colorprofile.Profile) colorprofile.Profile {
	switch k {
	case Console:
		return min(profile, colorprofile.ANSI)
	case VT, Dumb:
		return min(profile, colorprofile.ASCII)
	}
	return profile
}

var (
	// xtermOnlySequences are the sequences that only Xterm takes.
	xtermOnlySequences = regexp.MustCompile(strings.Join([]string{
		// the title, the progress indicator, the clipboard, colour queries
		`\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`,
		`\x1b\[[<>=][\d;]*[mu]|\x1b\[\?u`,                   // keyboards
		`\x1b\[\?[\d;]+\$p`,                                 // mode queries
		`\x1b\[\?(?:1000|1002|1003|1004|1006|20\d\d|1049)h`, // reports, synchronized output, graphemes, the alternate screen
		`\x1b\[\?(?:1000|1002|1003|1004|1006|20\d\d|1049)l`, //
		`\x1b\[\?5W`, // tab stops
	}, "|"))
	styleSequence = regexp.MustCompile(`\x1b\[([\d;]*)m`)
	// vtStyleCodes are the codes that start and end bold, underlined, blinking and reverse text.
	vtStyleCodes = []string{"", "0", "1", "4", "5", "7", "22", "24", "25", "27"}
)

// leaveAltScreen clears the screen of a terminal without an alternate screen.
const leaveAltScreen = "\x1b[H\x1b[2J"

// FilterSequences removes the sequences that the kind does not know from the bytes to send.
func (k Kind) FilterSequences(p []byte) []byte {
	if k == Xterm {
		return p
	}
	p = xtermOnlySequences.ReplaceAllFunc(p, func(sequence []byte) []byte {
		if string(sequence) == ansi.ResetModeAltScreenSaveCursor {
			return []byte(leaveAltScreen)
		}
		return nil
	})
	if k != VT {
		return p
	}
	return styleSequence.ReplaceAllFunc(p, func(sequence []byte) []byte {
		styles := strings.Split(string(sequence[2:len(sequence)-1]), ";")
		known := slices.DeleteFunc(slices.Clone(styles), func(s string) bool { return !slices.Contains(vtStyleCodes, s) })
		if len(known) == 0 {
			return nil
		}
		return []byte("\x1b[" + strings.Join(known, ";") + "m")
	})
}
