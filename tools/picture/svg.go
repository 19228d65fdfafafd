package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// frame is one screen, and how long it is shown.
type frame struct {
	rows  [][]span
	says  string
	lasts time.Duration
}

// span is neighbouring cells of one look.
type span struct {
	at, cells int
	text      string
	look      look
}

// look is how cells look. Colours are named by class; empty is the terminal's own.
type look struct {
	fg, bg                  string
	bold, faint, underlined bool
}

func (f frame) same(other frame) bool {
	return f.says == other.says && slices.EqualFunc(f.rows, other.rows, slices.Equal[[]span])
}

// A cell's size, and the frame around the screen.
const (
	cellWidth, cellHeight = 8.4, 18.0
	margin, titleHeight   = 14.0, 34.0
)

// style gives the sixteen colours values for a dark page and for a light one.
const style = `text{font:14px Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:var(--ink)}
.b{font-weight:700}.d{opacity:.7}.u{text-decoration:underline}
:root{--paper:#fbfbfd;--ink:#24292f;--rim:#d0d7de;--c0:#24292f;--c1:#b3151d;--c2:#116329;--c3:#7d4e00;` +
	`--c4:#0550ae;--c5:#7b2fb5;--c6:#0f5f6b;--c7:#57606a;--c8:#57606a;--c9:#a40e26;--c10:#1a7f37;` +
	`--c11:#633c01;--c12:#0969da;--c13:#8250df;--c14:#1b6f7c;--c15:#24292f}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--rim:#30363d;` +
	`--c0:#0d1117;--c1:#ff7b72;--c2:#56d364;--c3:#e3b341;--c4:#79c0ff;--c5:#d2a8ff;` +
	`--c6:#56d4dd;--c7:#b1bac4;--c8:#9198a1;--c9:#ffa198;--c10:#7ee787;--c11:#f2cc60;` +
	`--c12:#a5d6ff;--c13:#e2c5ff;--c14:#8ddbe0;--c15:#f0f6fc}}
`

// draw draws a film as an SVG that repeats itself, one frame as a still. A page that
// asks for little motion gets the first frame only.
func draw(film []frame, columns, rows int) string {
	width, height := float64(columns)*cellWidth+2*margin, float64(rows)*cellHeight+titleHeight+margin
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" "+
			"viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\">\n<style>\n%s",
		width,
		height,
		width,
		height,
		style,
	)
	if len(film) > 1 {
		b.WriteString(motion(film, width))
	}
	b.WriteString("</style>\n")
	names, shapes := shapesOf(film)
	fmt.Fprintf(
		&b,
		"<defs>\n%s</defs>\n<rect width=\"%g\" height=\"%g\" rx=\"8\" fill=\"var(--paper)\" stroke=\"var(--rim)\"/>\n",
		shapes,
		width,
		height,
	)
	b.WriteString(
		"<circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f57\"/>" +
			"<circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#febc2e\"/>" +
			"<circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#28c840\"/>\n<g class=\"film\">\n",
	)
	for i, f := range film {
		fmt.Fprintf(&b, "<g transform=\"translate(%g %g)\">", float64(i)*width+margin, titleHeight)
		if f.says != "" && len(film) > 1 {
			fmt.Fprintf(
				&b,
				"<text x=\"%g\" y=\"-12\" text-anchor=\"middle\" class=\"d\">%s</text>",
				width/2,
				html.EscapeString(f.says),
			)
		}
		for y, row := range f.rows {
			if name := names[shape(row)]; name != "" {
				fmt.Fprintf(&b, "<use href=\"#%s\" y=\"%g\"/>", name, float64(y)*cellHeight)
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// motion moves the strip of frames by one frame at a time.
func motion(film []frame, width float64) string {
	var whole, at time.Duration
	for _, f := range film {
		whole += f.lasts
	}
	var b strings.Builder
	b.WriteString("@keyframes film{")
	for i, f := range film {
		fmt.Fprintf(&b, "%.3f%%{transform:translateX(%gpx)}", 100*at.Seconds()/whole.Seconds(), -float64(i)*width)
		at += f.lasts
	}
	fmt.Fprintf(
		&b,
		"}\n.film{animation:film %gs step-end infinite}\n@media (prefers-reduced-motion:reduce){.film{animation:none}}\n",
		whole.Seconds(),
	)
	return b.String()
}

// shapesOf are the different rows of all frames, each once, and their names.
func shapesOf(film []frame) (names map[string]string, shapes string) {
	names = map[string]string{}
	var b strings.Builder
	for _, f := range film {
		for _, row := range f.rows {
			s := shape(row)
			if _, known := names[s]; !known && s != "" {
				names[s] = fmt.Sprintf("r%d", len(names))
				fmt.Fprintf(&b, "<g id=\"%s\">%s</g>\n", names[s], s)
			}
		}
	}
	return names, b.String()
}

// shape draws one row at the top; empty for an empty row.
func shape(row []span) string {
	var b strings.Builder
	for _, r := range row {
		if r.look.bg != "" {
			fmt.Fprintf(
				&b,
				"<rect x=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>",
				round(r.at),
				round(r.cells),
				cellHeight,
				value(r.look.bg),
			)
		}
		text := strings.TrimRight(r.text, " ")
		indent := len(text) - len(strings.TrimLeft(text, " "))
		if text = text[indent:]; text == "" {
			continue
		}
		cells := r.cells - indent - (len(r.text) - len(strings.TrimRight(r.text, " ")))
		fmt.Fprintf(
			&b,
			"<text x=\"%g\" y=\"13.5\" textLength=\"%g\"%s%s>%s</text>",
			round(r.at+indent),
			round(cells),
			classes(r.look),
			fill(r.look),
			html.EscapeString(text),
		)
	}
	return b.String()
}

func round(cells int) float64 { return float64(int(float64(cells)*cellWidth*10+.5)) / 10 }

func classes(l look) string {
	var names []string
	for _, c := range []struct {
		name string
		is   bool
	}{{"b", l.bold}, {"d", l.faint}, {"u", l.underlined}} {
		if c.is {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" class=%q", strings.Join(names, " "))
}

func fill(l look) string {
	if l.fg == "" {
		return ""
	}
	return fmt.Sprintf(" style=\"fill:%s\"", value(l.fg))
}

func value(class string) string {
	if strings.HasPrefix(class, "#") {
		return class
	}
	return "var(--" + class + ")"
}
