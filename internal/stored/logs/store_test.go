package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func newStore(t testing.TB, most int64) *Store {
	t.Helper()
	s, err := NewStore(t.TempDir(), most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fill puts a log's text into a Store, as a stored log comes.
func fill(t testing.TB, s *Store, text string) {
	t.Helper()
	if err := splitLines(t.Context(), strings.NewReader(text), time.Time{}, s.AddEntry); err != nil {
		t.Fatal(err)
	}
}

func line(at, level, text, more string) string {
	return fmt.Sprintf("time=\"2026-11-21T%sZ\" level=%s msg=%q%s\n", at, level, text, more)
}

func TestStoreGivesBackWhatItGot(t *testing.T) {
	s := newStore(t, 0)
	var want []string
	var text strings.Builder
	for i := range 5000 {
		l := strings.Repeat("x", i%700) + fmt.Sprint(i)
		want = append(want, l)
		text.WriteString(l + "\n")
	}
	fill(t, s, text.String())
	if s.Len() != len(want) || s.Size() != int64(text.Len()) {
		t.Fatalf("%d lines of %d bytes", s.Len(), s.Size())
	}
	for _, i := range []int{0, 1, 63, 64, 65, 2500, 4998, 4999} {
		if got, err := rawOf(s, i, maxLineBytes); err != nil || got != want[i] {
			t.Errorf("line %d is %q, %v", i, got, err)
		}
	}
	if got, _ := rawOf(s, 700, 10); got != want[700][:min(10, len(want[700]))] {
		t.Errorf("the beginning of a line is %q", got)
	}
	var out bytes.Buffer
	if err := s.writeTo(&out); err != nil || out.String() != text.String() {
		t.Errorf("it writes %d bytes, %v", out.Len(), err)
	}
	for _, i := range []int{-1, 5000} {
		if got, err := rawOf(s, i, 1); got != "" || err != nil {
			t.Errorf("line %d is %q, %v", i, got, err)
		}
	}
}

// What the program leaves behind when it is killed is nothing.
func TestStoreHasNoName(t *testing.T) {
	dir := t.TempDir()
	s, err := NewStore(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("it has the name %s", files[0].Name())
	}
	if info, err := s.file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.AddEntry(Entry{Raw: []byte("x")}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("adding to a closed one: %v", err)
	}
	if _, err := rawOf(s, 0, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading a closed one: %v", err)
	}
	if _, err := findAll(t.Context(), s, "x", 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("searching a closed one: %v", err)
	}
}

func TestLevels(t *testing.T) {
	s := newStore(t, 0)
	fill(t, s, line("01:00:00", "info", "one", "")+
		line("01:00:01", "warning", "two", "")+
		"a stack\n"+
		`{"level":"error","msg":"three","time":"2026-11-21T01:00:02Z"}`+"\n"+
		line("01:00:03", "fatal", "four", "")+
		line("01:00:04", "debug", "five", "")+
		line("01:00:05", "wild", "six", ""))
	if err := s.AddEntry(newNotice("a gap")); err != nil {
		t.Fatal(err)
	}
	want := []Level{Info, Warning, NoLevel, Error, Error, Debug, NoLevel, Notice}
	for i, l := range want {
		if s.LineAt(i).Level != l {
			t.Errorf("line %d has level %q, want %q", i, s.LineAt(i).Level, l)
		}
	}
	v := NewView(s, Warning)
	v.Update()
	if !slices.Equal(v.shown, []uint32{1, 2, 3, 4, 7}) || v.Len() != 5 || v.LineIndex(2) != 3 {
		t.Errorf("from warning on there are %v", v.shown)
	}
	if row, exact := v.RowOf(5); row != 4 || exact {
		t.Errorf("line 5 is at %d, %v", row, exact)
	}
	all := NewView(s, NoLevel)
	all.Update()
	if v.FirstError(0) != 2 || v.FirstError(3) != 3 || v.FirstError(4) != -1 || all.FirstError(0) != 3 {
		t.Error("the first error is somewhere else")
	}
	if s.CountLevel(Error) != 2 || s.CountLevel(Warning) != 1 {
		t.Errorf("%d errors, %d warnings", s.CountLevel(Error), s.CountLevel(Warning))
	}
	if at := s.NewestTime(); at.Format(time.TimeOnly) != "01:00:05" {
		t.Errorf("the newest is of %s", at)
	}
}

func TestParse(t *testing.T) {
	l := Parse(
		strings.TrimSpace(line("01:00:01", "error", "cannot \x1b[2J", ` backup=velero/b error="no\u202eway" name=a`)),
	)
	if l.At.IsZero() || l.Level != Error || l.Text != `cannot \x1b[2J` || l.Error != `no\u202eway` ||
		!slices.Equal(l.Fields, []LineField{{"backup", "velero/b"}, {"name", "a"}}) {
		t.Errorf("it says %+v", l)
	}
	if l := Parse(
		"[node-agent-x] " + strings.TrimSpace(line("01:00:01", "info", "moved", "")),
	); l.Source != "node-agent-x" ||
		l.Text != "moved" {
		t.Errorf("of a pod: %+v", l)
	}
	if l := Parse(
		`time="2026-11-21T01:00:01Z" level=info msg="cut in the mid`,
	); l.At.IsZero() || l.Level != Info ||
		l.Text != `"cut in the mid` {
		t.Errorf("a line that was cut: %+v", l)
	}
	if l := Parse("goroutine 1 \x9b[running]"); l.Text != `goroutine 1 \x9b[running]` || l.Level != NoLevel {
		t.Errorf("another: %+v", l)
	}
}

func findAll(ctx context.Context, s *Store, text string, from int) ([]int, error) {
	return s.findLines(ctx, text, from, math.MaxInt, math.MaxInt, nil)
}

func TestFind(t *testing.T) {
	s := newStore(t, 0)
	var text strings.Builder
	for i := range 10_000 {
		text.WriteString(line("01:00:00", "info", fmt.Sprintf("Backed up %d items", i), ""))
	}
	text.WriteString(line("01:00:01", "error", `cannot "Read" it`, ""))
	fill(t, s, text.String())
	for query, want := range map[string]int{
		"backed UP 9999 ": 1, "Backed up": 10_000, `"read"`: 1, "level=error": 1, "nothing of it": 0, "": 0,
		"items\"\ntime": 0,
	} {
		found, err := findAll(t.Context(), s, query, 0)
		if err != nil || len(found) != want {
			t.Errorf("%q: %d lines, %v; want %d", query, len(found), err, want)
		}
	}
	found, err := findAll(t.Context(), s, "Backed up", 9_990)
	if err != nil || len(found) != 10 || found[0] != 9990 || found[9] != 9999 {
		t.Errorf("from a line on: %v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	looked := 0
	_, err = s.findLines(ctx, "Backed up", 0, math.MaxInt, math.MaxInt, func(int) bool { looked++; cancel(); return true })
	if !errors.Is(err, context.Canceled) || looked != 1 {
		t.Errorf("it was cancelled: %v after %d", err, looked)
	}
}

func TestNext(t *testing.T) {
	s := newStore(t, 0)
	var text strings.Builder
	for i := range 50_000 {
		level := "info"
		if i%1000 == 7 {
			level = "error"
		}
		text.WriteString(line("01:00:00", level, fmt.Sprintf("item %d.", i), ""))
	}
	fill(t, s, text.String())
	for _, c := range []struct {
		least   Level
		text    string
		row     int
		forward bool
		want    int
	}{
		{NoLevel, "ITEM 4007.", 0, true, 4007}, {NoLevel, "item 4007.", 4007, true, 4007}, {NoLevel, "item 4007.", 4008, true, -1},
		{NoLevel, "item 4007.", 50_000, false, 4007}, {NoLevel, "item 4007.", 4008, false, 4007}, {NoLevel, "item 4007.", 4007, false, -1},
		{Error, "item 4007.", 0, true, 4}, {Error, "item 4007.", 5, true, -1}, {Error, "item 4008.", 0, true, -1},
		{Error, "item", 3, true, 3}, {Error, "item", 3, false, 2}, {Error, "item", 0, false, -1}, {Error, "item", 50, true, -1}, {Error, "item", 50, false, 49},
	} {
		v := NewView(s, c.least)
		v.Update()
		if got, err := v.FindNext(t.Context(), c.text, c.row, c.forward, nil); got != c.want || err != nil {
			t.Errorf("%+v: row %d, %v", c, got, err)
		}
	}
}

// A line of ten megabytes costs what it takes on disk, and is found and saved.
func TestLongLine(t *testing.T) {
	s := newStore(t, 0)
	long := strings.Repeat(strings.Repeat("a", 99)+"\x1b", 100<<10) + " the end"
	fill(
		t,
		s,
		line(
			"01:00:00",
			"info",
			"before",
			"",
		)+`time="2026-11-21T01:00:01Z" level=warning msg=`+long+"\n"+line(
			"01:00:02",
			"error",
			"after",
			"",
		),
	)
	last := s.Len() - 1
	if last < 10 || s.LineAt(last).Text != "after" || s.CountLevel(Warning) != 1 {
		t.Fatalf("%d lines, the last %+v", s.Len(), s.LineAt(last))
	}
	for i := range s.Len() {
		l := s.LineAt(i)
		if len(l.Text) > 20_000 || strings.Contains(l.Text, "\x1b") || (i > 1 && i < last) != l.IsContinuation {
			t.Errorf("line %d: %d bytes, more %v", i, len(l.Text), l.IsContinuation)
		}
	}
	if l := s.LineAt(1); l.Level != Warning || l.At.IsZero() {
		t.Errorf("its beginning is %v of %v", l.Level, l.At)
	}
	if found, err := findAll(t.Context(), s, "the end", 0); err != nil || !slices.Equal(found, []int{last - 1}) {
		t.Errorf("its end is at %v, %v", found, err)
	}
	path := filepath.Join(t.TempDir(), "saved")
	if err := s.SaveTo(path); err != nil {
		t.Fatal(err)
	}
	saved, err := os.ReadFile(path)
	if err != nil || bytes.Count(saved, []byte("\n")) != 3 || bytes.ContainsRune(saved, 0x1b) {
		t.Errorf("saved are %d lines, %v", bytes.Count(saved, []byte("\n")), err)
	}
}

func TestSaveOverwritesNothing(t *testing.T) {
	s := newStore(t, 0)
	fill(t, s, "one\n")
	path := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveTo(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("saved over it: %v", err)
	}
	if kept, _ := os.ReadFile(path); string(kept) != "precious" {
		t.Errorf("the file holds %q", kept)
	}
	path += "-new"
	if err := s.SaveTo(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

func TestFullStoreSaysSo(t *testing.T) {
	s := newStore(t, 100)
	fill(t, s, strings.Repeat("ten bytes\n", 12))
	if s.Len() != 10 || s.CountDropped() != 2 || !strings.Contains(s.DroppedText(), "2 lines") {
		t.Errorf("%d lines, %d dropped: %s", s.Len(), s.CountDropped(), s.DroppedText())
	}
}

// A full Store keeps nothing more, also what would still fit: it would look as if
// what lies between was never logged.
func TestFullStoreHasNoHoles(t *testing.T) {
	s := newStore(t, 30)
	fill(t, s, "ten bytes\nten bytes\n"+"too long for the rest\n"+"fits\n"+"fits\n")
	if s.Len() != 2 || s.CountDropped() != 3 || s.DroppedText() != "3 lines after 20B not kept" {
		t.Errorf("%d lines, %d dropped: %s", s.Len(), s.CountDropped(), s.DroppedText())
	}
	s = newStore(t, maxLineBytes+100)
	fill(t, s, strings.Repeat("x", 3*maxLineBytes)+"\nfits\n")
	if s.CountLines() != 1 || s.CountDropped() != 2 {
		t.Errorf("of a line that fits only in part, and one more, %d are kept and %d dropped", s.CountLines(), s.CountDropped())
	}
}

func TestPartsOfALineAreOneLine(t *testing.T) {
	s := newStore(t, 0)
	fill(t, s, line("01:00:00", "info", "one", "")+strings.Repeat("x", 3*maxLineBytes)+"\n"+"a stack\n")
	if err := s.AddEntry(newNotice("a gap")); err != nil {
		t.Fatal(err)
	}
	if s.CountLines() != 3 || s.Len() < 6 {
		t.Errorf("%d lines, %d parts", s.CountLines(), s.Len())
	}
}

func TestSplitSince(t *testing.T) {
	s := newStore(t, 0)
	text := line("01:00:00", "info", "old", "") + "of the old\n" + line("01:00:05", "info", "new", "") + "of the new\n"
	if err := splitLines(
		t.Context(),
		strings.NewReader(text),
		time.Date(2026, 11, 21, 1, 0, 3, 0, time.UTC),
		s.AddEntry,
	); err != nil {
		t.Fatal(err)
	}
	if s.Len() != 2 || s.LineAt(0).Text != "new" {
		t.Errorf("%d lines, the first %+v", s.Len(), s.LineAt(0))
	}
}

func FuzzStore(f *testing.F) {
	f.Add(line("01:00:00", "info", "x", " a=b")+"{\"level\":1}\n[pod] time=\n\x1b]0;x\x07\r\n\x00\xff", "x")
	f.Add("***************************begin pod logs[a/b]***************************\ntime=\"", `"`)
	f.Fuzz(func(t *testing.T, text, query string) {
		s := newStore(t, 0)
		fill(t, s, text)
		for i := range s.Len() {
			l := s.LineAt(i)
			for _, part := range append([]string{l.Text, l.Error, l.Source}, fieldTexts(l)...) {
				if strings.ContainsFunc(part, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }) {
					t.Errorf("line %d is not harmless: %q", i, part)
				}
			}
		}
		found, err := findAll(t.Context(), s, query, 0)
		if err != nil || !slices.IsSorted(found) || len(found) > s.Len() {
			t.Errorf("%q is in %v of %d lines, %v", query, found, s.Len(), err)
		}
		for _, i := range found {
			if i < 0 || i >= s.Len() {
				t.Errorf("line %d of %d", i, s.Len())
			}
		}
		v := NewView(s, Warning)
		v.Update()
		v.FirstError(0)
	})
}

func fieldTexts(l Line) (all []string) {
	for _, f := range l.Fields {
		all = append(all, f.Name, f.Value)
	}
	return all
}

func rawOf(s *Store, i, most int) (string, error) {
	text, _, err := s.readRaw(i, most)
	return text, err
}
