package cmd

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	// ownCSI are the sequences that Bubble Tea's renderer and our meter emit:
	// movement, erasing and shifting, colours, scroll regions, the modes that we
	// use, and the questions that are asked of the terminal at the start.
	ownCSI = regexp.MustCompile(`^(` + strings.Join([]string{
		`[\d;]*[ABCDEFGHJKLMPSTXZ@bdfr` + "`" + `]`,
		`[\d;:]*m`,
		`\?(7|25|1049|2004|2026|2027)[hl]`,
		`\?(2026|2027)\$p`, `5n`, // questions
		`>4(;\d)?m`, `[<>=]\d*(;\d+)?u`, `\?u`, // keyboards
		`\d? q`, // the cursor's shape
		`\?5W`,  // a tab stop each eight columns
	}, "|") + `)$`)
	// ownOSC are the title, the progress indicator, and questions for colours.
	ownOSC = regexp.MustCompile(`^(0|1|2|9;4|10;\?|11;\?|12;\?|110|111|112)(;|$)`)
)

// checkTerminal parses everything that a terminal was sent and holds it to the
// sequences that are our own, around harmless text.
func checkTerminal(t *testing.T, where, raw string) {
	t.Helper()
	for rest := raw; rest != ""; {
		size, why := ownSequence(rest)
		if why != "" {
			at := len(raw) - len(rest)
			t.Errorf("%s: %s at byte %d: %q", where, why, at, raw[max(0, at-60):min(len(raw), at+120)])
			return
		}
		rest = rest[size:]
	}
}

// ownSequence is the length of what s begins with: a sequence, a control, or
// text up to the next of them.
func ownSequence(s string) (size int, why string) {
	switch {
	case strings.HasPrefix(s, "\x1b["):
		end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 || !ownCSI.MatchString(s[2:2+end+1]) {
			return 0, "not our CSI"
		}
		return 2 + end + 1, ""
	case strings.HasPrefix(s, "\x1b]"):
		end := strings.IndexAny(s[2:], "\x07\x1b")
		if end < 0 {
			return 0, "an OSC without end"
		}
		body := s[2 : 2+end]
		size = 2 + end + 1
		if s[2+end] == '\x1b' {
			if !strings.HasPrefix(s[2+end:], "\x1b\\") {
				return 0, "an OSC without end"
			}
			size++
		}
		if !ownOSC.MatchString(body) {
			return 0, "not our OSC"
		}
		if why := unsafeText(body, ""); why != "" || utf8.RuneCountInString(body) > 300 {
			return 0, "an OSC that is not clean: " + why
		}
		return size, ""
	case strings.HasPrefix(s, "\x1b7"),
		strings.HasPrefix(s, "\x1b8"),
		strings.HasPrefix(s, "\x1bM"): // cursor kept, back, and up
		return 2, ""
	case s[0] == '\x1b':
		return 0, "not our escape"
	case strings.IndexByte("\r\n\t\b", s[0]) >= 0:
		return 1, ""
	}
	end := strings.IndexAny(s, "\x1b\r\n\t\b")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return 0, fmt.Sprintf("control %q", s[0])
	}
	return end, unsafeText(s[:end], "")
}

func TestCheckTerminalFindsForeignSequences(t *testing.T) {
	for _, own := range []string{"\x1b[1;31mred\x1b[m\r\n", "\x1b]2;veltui\x07", "\x1b[?1049h\x1b[?25l\x1b[2;5H日"} {
		for rest := own; rest != ""; {
			size, why := ownSequence(rest)
			if why != "" {
				t.Fatalf("%q: %s", own, why)
			}
			rest = rest[size:]
		}
	}
	for _, foreign := range []string{"\x1b]52;c;aGk=\x07", "\x1b[6n", "\x1bP+q\x1b\\", "\u009b31m", "a\x07", "\u202e", "\x1b]2;\u202e\x07", "\x9b", "\x1bc", "\x1b[?1000h", "\x1b[8;1;1t", "a\x00", "\uff9e", "\u1100"} {
		size, why := ownSequence(foreign)
		if why == "" && size < len(foreign) {
			_, why = ownSequence(foreign[size:])
		}
		if why == "" {
			t.Errorf("%q passes", foreign)
		}
	}
}
