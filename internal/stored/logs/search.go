package logs

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// find returns at most most lines in [from, before) with the text that accept, if not nil, takes.
func (s *Store) find(ctx context.Context, text string, from, before, most int, accept func(int) bool) ([]int, error) {
	needles := needlesOf(text)
	if len(needles) == 0 {
		return nil, nil
	}
	var found []int
	var folded []byte
	err := s.scan(ctx, max(0, from), func(first int, sizes []uint32, block []byte) bool {
		folded = append(folded[:0], block...)
		fold(folded)
		hits := matches(folded, needles)
		end := 0
		for i, packed := range sizes {
			begin := end
			end += int(packed&(moreBit-1)) + 1
			if len(hits) > 0 && hits[0] < end && hits[0] >= begin && first+i < before {
				if accept == nil || ctx.Err() == nil && accept(first+i) {
					found = append(found, first+i)
				}
				hits = hits[sort.SearchInts(hits, end):]
			}
			if len(hits) == 0 || len(found) == most || first+i >= before {
				break
			}
		}
		return len(found) < most && first+len(sizes) < before
	})
	return found, err
}

// needlesOf are the texts to look for: quoted text in a line is shown and found without its escapes.
func needlesOf(text string) [][]byte {
	if text == "" || strings.Contains(text, "\n") {
		return nil
	}
	plain := []byte(text)
	fold(plain)
	needles := [][]byte{plain}
	if strings.ContainsAny(text, `"\`) {
		quoted := strconv.Quote(text)
		escaped := []byte(quoted[1 : len(quoted)-1])
		fold(escaped)
		needles = append(needles, escaped)
	}
	return needles
}

// matches are where the needles stand in a text, in order.
func matches(text []byte, needles [][]byte) []int {
	var hits []int
	for _, needle := range needles {
		for at := 0; ; {
			next := bytes.Index(text[at:], needle)
			if next < 0 {
				break
			}
			hits = append(hits, at+next)
			// The rest of the line does not matter.
			line := bytes.IndexByte(text[at+next:], '\n')
			if line < 0 {
				break
			}
			at += next + line
		}
	}
	slices.Sort(hits)
	return hits
}

// fold makes ASCII letters small.
func fold(text []byte) {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
}

// Next is the first shown line from row on, or before it, with a text; -1 if there is none.
// accept, which may be nil, decides about a line of the Store.
func (v *View) Next(ctx context.Context, text string, row int, forward bool, accept func(line int) bool) (int, error) {
	shown := func(line int) bool {
		_, exact := v.Row(line)
		return exact && (accept == nil || accept(line))
	}
	if forward {
		line := v.Index(max(0, row))
		if line < 0 {
			return -1, nil
		}
		found, err := v.Store.find(ctx, text, line, math.MaxInt, 1, shown)
		if err != nil || len(found) == 0 {
			return -1, err
		}
		row, _ = v.Row(found[0])
		return row, nil
	}
	end := v.Index(min(row, v.Len()) - 1)
	for end++; end > 0; end -= findBack {
		found, err := v.Store.find(ctx, text, max(0, end-findBack), end, findBack, nil)
		if err != nil {
			return -1, err
		}
		for i := len(found) - 1; i >= 0 && ctx.Err() == nil; i-- {
			if shown(found[i]) {
				row, _ = v.Row(found[i])
				return row, nil
			}
		}
	}
	return -1, ctx.Err()
}

// findBack is how many lines are searched at once when it goes back.
const findBack = 16 << 10

// View is a Store without the lines below a level; lines without one go with the line before, marks stay.
// It takes four bytes for each line that it has, none if it has all.
type View struct {
	Store *Store
	least Level

	mu    sync.RWMutex
	shown []uint32
	// seen counts the Store's lines that were looked at; before is whether the last one with a level was taken.
	seen   int
	before bool
}

// NewView shows a Store from a level on; NoLevel shows all of it.
func NewView(s *Store, least Level) *View { return &View{Store: s, least: least} }

// Update takes up lines that came since.
func (v *View) Update() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Store.mu.RLock()
	defer v.Store.mu.RUnlock()
	if v.least == NoLevel {
		v.seen = len(v.Store.lines)
		return
	}
	for ; v.seen < len(v.Store.lines); v.seen++ {
		switch level := v.Store.level(v.seen); level {
		case NoLevel:
		case Mark:
			v.before = true
		default:
			v.before = level >= v.least
		}
		if v.before {
			v.shown = append(v.shown, uint32(v.seen))
		}
	}
}

// Seen is how many lines the Store had at the last Update.
func (v *View) Seen() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.seen
}

// Len is how many lines are shown, as of the last Update.
func (v *View) Len() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.least == NoLevel {
		return v.seen
	}
	return len(v.shown)
}

// Index is the Store's line that is shown as number i, -1 for none.
func (v *View) Index(i int) int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.index(i)
}

// Row is where a line of the Store is shown, or, not exact, the next one that is.
func (v *View) Row(line int) (row int, exact bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.least == NoLevel {
		return line, line < v.seen
	}
	return slices.BinarySearch(v.shown, uint32(max(0, line)))
}

// FirstError is the row of the first error at or after a row, -1 for none.
func (v *View) FirstError(from int) int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	v.Store.mu.RLock()
	defer v.Store.mu.RUnlock()
	for i := max(0, from); ; i++ {
		line := v.index(i)
		if line < 0 {
			return -1
		}
		if v.Store.level(line) == Error && v.Store.lines[line]&moreBit == 0 {
			return i
		}
	}
}

// index is Index, with the lock held.
func (v *View) index(i int) int {
	switch {
	case v.least == NoLevel && i < v.seen:
		return i
	case v.least != NoLevel && i >= 0 && i < len(v.shown):
		return int(v.shown[i])
	}
	return -1
}
