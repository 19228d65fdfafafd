package main

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

// A film is well-formed, shows each frame for its time, and holds each row once.
func TestDraw(t *testing.T) {
	row := []span{{at: 0, cells: 6, text: " a<b& ", look: look{fg: "c1", bold: true}}}
	film := []frame{
		{rows: [][]span{row, row}, lasts: time.Second},
		{rows: [][]span{row, {{cells: 6, text: "      "}}}, says: "enter", lasts: 3 * time.Second},
	}
	text := draw(film, 6, 2)
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for part, times := range map[string]int{
		`textLength="33.6" class="b" style="fill:var(--c1)">a&lt;b&amp;<`: 1, `href="#r0"`: 3, ">enter<": 1,
		"0.000%{transform:translateX(-0px)}25.000%{": 1, "animation:film 4s": 1, "prefers-color-scheme:dark": 1,
	} {
		if strings.Count(text, part) != times {
			t.Errorf("%d times %s in\n%s", strings.Count(text, part), part, text)
		}
	}
	if still := draw(film[:1], 6, 2); strings.Contains(still, "animation") {
		t.Errorf("a still moves:\n%s", still)
	}
}
