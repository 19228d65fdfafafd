package sanitize

import "unicode"

// joiners are characters, other than marks, that become one with what stands
// before or after them, even where two texts meet: terminals that add up runes
// give them cells that those that know clusters do not. TestNothingJoins finds
// those that a newer Unicode adds.
var joiners = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0d4e, 0x0d4e, 1},                      // Malayalam dot reph
		{0x0e33, 0x0e33, 1}, {0x0eb3, 0x0eb3, 1}, // Thai and Lao sara am
		{0x1100, 0x11ff, 1}, {0xa960, 0xa97f, 1}, {0xd7b0, 0xd7ff, 1}, // jamo
		{0xff9e, 0xff9f, 1}, // half-width voicing
	},
	R32: []unicode.Range32{
		{0x110bd, 0x110bd, 1}, {0x111c2, 0x111c3, 1}, {0x1193f, 0x1193f, 1}, {0x11941, 0x11941, 1},
		{0x11a3a, 0x11a3a, 1}, {0x11a84, 0x11a89, 1}, {0x11d46, 0x11d46, 1}, {0x11f02, 0x11f02, 1}, // prefixed letters
		{0x1f3fb, 0x1f3ff, 1}, // skin tones
	},
}

// disputed are characters whose width depends on how old a terminal's Unicode
// is: measured with tmux 3.3a on glibc's tables (Unicode 14) against ours, every
// character below U+20000 alone and threefold.
var disputed = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x2630, 0x2637, 1}, {0x268a, 0x268f, 1}, // wide since Unicode 16
		{0x3248, 0x324f, 1}, // ambiguous
	},
	R32: []unicode.Range32{
		// Unicode 15
		{0x1123f, 0x11240, 1}, {0x11b00, 0x11b09, 1}, {0x11f04, 0x11f10, 1}, {0x11f12, 0x11f33, 1},
		{0x11f43, 0x11f59, 1}, {0x1342f, 0x1342f, 1}, {0x13441, 0x13446, 1}, {0x1b132, 0x1b132, 1},
		{0x1b155, 0x1b155, 1}, {0x1d2c0, 0x1d2d3, 1},
		{0x1d300, 0x1d356, 1}, {0x1d360, 0x1d376, 1}, // wide since Unicode 16
		// Unicode 15
		{0x1df25, 0x1df2a, 1}, {0x1e030, 0x1e06d, 1}, {0x1e4d0, 0x1e4eb, 1}, {0x1e4f0, 0x1e4f9, 1},
		{0x1f6dc, 0x1f6dc, 1}, {0x1f774, 0x1f776, 1}, {0x1f77b, 0x1f77f, 1}, {0x1f7d9, 0x1f7d9, 1},
		{0x1fa75, 0x1fa77, 1}, {0x1fa87, 0x1fa88, 1}, {0x1faad, 0x1faaf, 1}, {0x1fabb, 0x1fabd, 1},
		{0x1fabf, 0x1fabf, 1}, {0x1face, 0x1facf, 1}, {0x1fada, 0x1fadb, 1}, {0x1fae8, 0x1fae8, 1},
		{0x1faf7, 0x1faf8, 1}, {0x31350, 0x323af, 1},
	},
}
