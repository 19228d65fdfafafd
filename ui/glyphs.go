package ui

// glyphs are the signs that a frame is drawn with. Every one has an ASCII twin
// of the same width, so that a layout never depends on the set.
type glyphs struct {
	cursor, attention         string
	done, failed, partly      string
	now, ahead, skipped       string
	fact, open                string
	barFull, barEmpty         string
	barParts                  []string // growing parts of a cell, without empty and full
	rule, corner, side, stage string
	approx, ellipsis, arrow   string
	marked                    string
	corners                   [4]string // of a box: above left and right, below left and right
}

var unicodeGlyphs = glyphs{
	cursor: "▸", attention: "!",
	done: "✓", failed: "✗", partly: "!",
	now: "▶", ahead: "·", skipped: "-",
	fact: "•", open: "?",
	barFull: "█", barEmpty: "─",
	barParts: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
	rule:     "─", corner: "+", side: "│", stage: "─",
	approx: "≈", ellipsis: "…", arrow: "▾",
	marked: "*", corners: [4]string{"╭", "╮", "╰", "╯"},
}

var asciiGlyphs = glyphs{
	cursor: ">", attention: "!",
	done: "+", failed: "x", partly: "!",
	now: ">", ahead: ".", skipped: "-",
	fact: "*", open: "?",
	barFull: "#", barEmpty: "-",
	rule: "-", corner: "+", side: "|", stage: "-",
	approx: "~", ellipsis: "~", arrow: "v",
	marked: "*", corners: [4]string{"+", "+", "+", "+"},
}
