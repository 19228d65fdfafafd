package terminal

import (
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Kind is a family of terminals. Most take or ignore what Bubble Tea sends; others print it.
type Kind int

const (
	Xterm Kind = iota // all that are none of the others
	// Console is the Linux console and its like: sixteen colours, often no alternate screen (man 4 console_codes).
	Console
	// VT is a VT100 to VT525, or a serial console. It needs what the VT102 and VT220 can: inserting, deleting, a
	// hidden cursor.
	VT
	Dumb // cannot move its cursor
)

func KindOf(term string) Kind {
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

func (k Kind) Colors() bool { return k == Xterm || k == Console }
func (k Kind) UTF8() bool   { return k == Xterm } // the Linux console has at most 512 signs
func (k Kind) Window() bool { return k == Xterm } // a title, a progress indicator and a clipboard

// mostColors are those that may be used of what the environment says.
func (k Kind) mostColors(profile colorprofile.Profile) colorprofile.Profile {
	switch k {
	case Console:
		return min(profile, colorprofile.ANSI)
	case VT, Dumb:
		return min(profile, colorprofile.ASCII)
	}
	return profile
}

var (
	// unknownToOld are the sequences that only Xterm takes.
	unknownToOld = regexp.MustCompile(strings.Join([]string{
		// the title, the progress indicator, the clipboard, questions for colours
		`\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`,
		`\x1b\[[<>=][\d;]*[mu]|\x1b\[\?u`,                   // keyboards
		`\x1b\[\?[\d;]+\$p`,                                 // questions for modes
		`\x1b\[\?(?:1000|1002|1003|1004|1006|20\d\d|1049)h`, // reports, synchronized output, graphemes, the alternate screen
		`\x1b\[\?(?:1000|1002|1003|1004|1006|20\d\d|1049)l`, //
		`\x1b\[\?5W`, // tab stops
	}, "|"))
	style = regexp.MustCompile(`\x1b\[([\d;]*)m`)
	// vtStyles are bold, underlined, blinking and reverse, and each one's end.
	vtStyles = []string{"", "0", "1", "4", "5", "7", "22", "24", "25", "27"}
)

// leaveAltScreen empties a screen that has no alternate.
const leaveAltScreen = "\x1b[H\x1b[2J"

// Translate leaves of what is sent the sequences that the kind knows.
func (k Kind) Translate(p []byte) []byte {
	if k == Xterm {
		return p
	}
	p = unknownToOld.ReplaceAllFunc(p, func(sequence []byte) []byte {
		if string(sequence) == ansi.ResetModeAltScreenSaveCursor {
			return []byte(leaveAltScreen)
		}
		return nil
	})
	if k != VT {
		return p
	}
	return style.ReplaceAllFunc(p, func(sequence []byte) []byte {
		styles := strings.Split(string(sequence[2:len(sequence)-1]), ";")
		known := slices.DeleteFunc(slices.Clone(styles), func(s string) bool { return !slices.Contains(vtStyles, s) })
		if len(known) == 0 {
			return nil
		}
		return []byte("\x1b[" + strings.Join(known, ";") + "m")
	})
}
