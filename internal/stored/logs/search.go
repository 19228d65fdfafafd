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

// findLines returns at most most lines in [from, before) that have the text and that accept, if not nil, accepts.
func (s *Store) findLines(
	ctx context.Context,
	text string,
	from, before, most int,
	accept func(int) bool,
) ([]int, error) {
	needles := needlesOf(text)
	if len(needles) == 0 {
		return nil, nil
	}
	var found []int
	var folded []byte
	err := s.scanBlocks(ctx, max(0, from), func(first int, sizes []uint32, block []byte) bool {
		folded = append(folded[:0], block...)
		foldASCII(folded)
		hits := matchOffsets(folded, needles)
		end := 0
		for i, packed := range sizes {
			begin := end
			end += int(packed&(continuationBit-1)) + 1
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

// needlesOf returns the texts to search for: quoted text in a line is shown and found without its escapes.
func needlesOf(text string) [][]byte {
	if text == "" || strings.Contains(text, "\n") {
		return nil
	}
	plain := []byte(text)
	foldASCII(plain)
	needles := [][]byte{plain}
	if strings.ContainsAny(text, `"\`) {
		quoted := strconv.Quote(text)
		escaped := []byte(quoted[1 : len(quoted)-1])
		foldASCII(escaped)
		needles = append(needles, escaped)
	}
	return needles
}

// matchOffsets returns the offsets of the needles in a text, in order.
func matchOffsets(text []byte, needles [][]byte) []int {
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

// foldASCII converts ASCII letters to lower case, in place.
func foldASCII(text []byte) {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
}

// FindNext returns the first shown line with a text from row on, or before row; -1 if there is none. accept, which
// may be nil, decides about a line of the Store.
func (v *View) FindNext(
	ctx context.Context,
	text string,
	row int,
	forward bool,
	accept func(line int) bool,
) (int, error) {
	shown := func(line int) bool {
		_, exact := v.RowOf(line)
		return exact && (accept == nil || accept(line))
	}
	if forward {
		line := v.LineIndex(max(0, row))
		if line < 0 {
			return -1, nil
		}
		found, err := v.Store.findLines(ctx, text, line, math.MaxInt, 1, shown)
		if err != nil || len(found) == 0 {
			return -1, err
		}
		row, _ = v.RowOf(found[0])
		return row, nil
	}
	end := v.LineIndex(min(row, v.Len()) - 1)
	for end++; end > 0; end -= backwardBatch {
		found, err := v.Store.findLines(ctx, text, max(0, end-backwardBatch), end, backwardBatch, nil)
		if err != nil {
			return -1, err
		}
		for i := len(found) - 1; i >= 0 && ctx.Err() == nil; i-- {
			if shown(found[i]) {
				row, _ = v.RowOf(found[i])
				return row, nil
			}
		}
	}
	return -1, ctx.Err()
}

// backwardBatch is how many lines are searched at once in a backward search.
const backwardBatch = 16 << 10

// View shows a Store without the lines below a level; lines without a level go with the line before, and marks are
// always shown. It takes four bytes for each line that it shows, none if it shows all.
type View struct {
	Store    *Store
	minLevel Level

	mu    sync.RWMutex
	shown []uint32
	// checkedLines counts the Store's lines that were checked; before says whether the last line with a level is shown.
	checkedLines     int
	isLastLevelShown bool
}

// NewView makes a View of a Store from a level on; NoLevel shows all of it.
func NewView(s *Store, least Level) *View { return &View{Store: s, minLevel: least} }

// Update adds the lines that were stored since the last Update.
func (v *View) Update() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Store.mu.RLock()
	defer v.Store.mu.RUnlock()
	if v.minLevel == NoLevel {
		v.checkedLines = len(v.Store.lines)
		return
	}
	for ; v.checkedLines < len(v.Store.lines); v.checkedLines++ {
		switch level := v.Store.levelAt(v.checkedLines); level {
		case NoLevel:
		case Notice:
			v.isLastLevelShown = true
		default:
			v.isLastLevelShown = level >= v.minLevel
		}
		if v.isLastLevelShown {
			v.shown = append(v.shown, uint32(v.checkedLines))
		}
	}
}

// CountCheckedLines returns the number of lines that the Store had at the last Update.
func (v *View) CountCheckedLines() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.checkedLines
}

// Len returns the number of shown lines, as of the last Update.
func (v *View) Len() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.minLevel == NoLevel {
		return v.checkedLines
	}
	return len(v.shown)
}

// LineIndex returns the Store's line that is shown in row i, -1 for none.
func (v *View) LineIndex(i int) int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.lineIndex(i)
}

// RowOf returns the row of a line of the Store, or, not exact, that of the next shown line.
func (v *View) RowOf(line int) (row int, exact bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.minLevel == NoLevel {
		return line, line < v.checkedLines
	}
	return slices.BinarySearch(v.shown, uint32(max(0, line)))
}

// FirstError returns the row of the first error at or after a row, -1 for none.
func (v *View) FirstError(from int) int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	v.Store.mu.RLock()
	defer v.Store.mu.RUnlock()
	for i := max(0, from); ; i++ {
		line := v.lineIndex(i)
		if line < 0 {
			return -1
		}
		if v.Store.levelAt(line) == Error && v.Store.lines[line]&continuationBit == 0 {
			return i
		}
	}
}

// lineIndex is LineIndex with the lock held.
func (v *View) lineIndex(i int) int {
	switch {
	case v.minLevel == NoLevel && i < v.checkedLines:
		return i
	case v.minLevel != NoLevel && i >= 0 && i < len(v.shown):
		return int(v.shown[i])
	}
	return -1
}
