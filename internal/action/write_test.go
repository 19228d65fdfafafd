package action

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An attempt that came later, of a veltui that keeps earlier ones, does not hide ours;
// one that does not leaves it unknown.
func TestFindAttempt(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        finding
	}{
		{"", "ours .", landed}, {"", "joes ours .", landed}, {"old", "joes ours old .", landed},
		{"", "", lost}, {"old", "old", lost}, {"old .", "joes old .", lost}, {"c b a", "d c b a .", lost}, {"", "joes .", lost}, {"old", "joes old", lost},
		{"", "joes", obscured}, {"old", "joes", obscured}, {"old", "joes .", obscured}, {"old", "", obscured}, {"b a", "c b .", obscured},
	} {
		before, _ := readAttempts(c.before)
		now, complete := readAttempts(c.now)
		if got := findAttempt("ours", before, now, complete); got != c.want {
			t.Errorf("%q after %q: %d, want %d", c.now, c.before, got, c.want)
		}
	}
}

// A program that names only its own attempt may have hidden ours, whoever came after it.
func TestMarksAfterAProgramThatNamesOnlyItself(t *testing.T) {
	object := func(version, mark string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetUID("u")
		o.SetResourceVersion(version)
		if mark != "" {
			o.SetAnnotations(map[string]string{"m": mark})
		}
		return o
	}
	for _, c := range []struct {
		name, before, now string
		want              finding
	}{
		{"only one came", "", addAttempt(object("3", ""), "m", "new"), lost},
		{"one that names itself, and one more", "", addAttempt(object("3", "old"), "m", "new"), obscured},
		{"the same, later", "b .", addAttempt(object("3", "old"), "m", "new"), obscured},
		{"one that kept what was there", "b .", addAttempt(object("3", "b ."), "m", "new"), lost},
		{"one that kept ours", "b", addAttempt(object("3", "me b"), "m", "new"), landed},
	} {
		p := &patch{seen: object("1", c.before), mark: "m", attempt: "me"}
		if got := p.find(object("4", c.now)); got != c.want {
			t.Errorf("%s: %q after %q is %v, want %v", c.name, c.now, c.before, got, c.want)
		}
	}
	if got := findIn(
		object("9", "1 2 3 4 5 6 7 8 ."),
		"9",
		"m",
		"me",
		strings.Fields("1 2 3 4 5 6 7"),
	); got != pending {
		t.Errorf("an attempt that may still land is %v", got)
	}
}
