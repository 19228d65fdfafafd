package draw

// Glyphs are the signs of a frame. Every one has an ASCII twin of the same width.
type Glyphs struct {
	Cursor, Attention         string
	Done, Failed, Partly      string
	Now, Ahead, Skipped       string
	Fact, Open                string
	BarFull, BarEmpty         string
	BarParts                  []string // growing parts of a cell, without empty and full
	Heights                   []string // of a bar in a row of bars, growing
	Rule, Corner, Side, Stage string
	Approx, Ellipsis          string
	Ascending, Descending     string
	Marked                    string
	Corners                   [4]string // of a box: above left and right, below left and right
}

// Unicode are the signs for terminals with UTF-8.
var Unicode = Glyphs{
	Cursor: "▸", Attention: "!",
	Done: "✓", Failed: "✗", Partly: "◑",
	Now: "▶", Ahead: "·", Skipped: "-",
	Fact: "•", Open: "?",
	BarFull: "█", BarEmpty: "─",
	BarParts: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
	Heights:  []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	Rule:     "─", Corner: "+", Side: "│", Stage: "─",
	Approx: "≈", Ellipsis: "…", Ascending: "▴", Descending: "▾",
	Marked: "*", Corners: [4]string{"╭", "╮", "╰", "╯"},
}

// ASCII are the signs for all others.
var ASCII = Glyphs{
	Cursor: ">", Attention: "!",
	Done: "+", Failed: "x", Partly: "%",
	Now: ">", Ahead: ".", Skipped: "-",
	Fact: "*", Open: "?",
	BarFull: "#", BarEmpty: "-",
	Heights: []string{"1", "2", "3", "4", "5", "6", "7", "8"},
	Rule:    "-", Corner: "+", Side: "|", Stage: "-",
	Approx: "~", Ellipsis: "~", Ascending: "^", Descending: "v",
	Marked: "*", Corners: [4]string{"+", "+", "+", "+"},
}
