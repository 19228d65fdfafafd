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
		want        writeFate
	}{
		{"", "ours .", fateLanded}, {"", "joes ours .", fateLanded}, {"old", "joes ours old .", fateLanded},
		{"", "", fateLost}, {"old", "old", fateLost}, {"old .", "joes old .", fateLost}, {"c b a", "d c b a .", fateLost}, {"", "joes .", fateLost}, {"old", "joes old", fateLost},
		{"", "joes", fateObscured}, {"old", "joes", fateObscured}, {"old", "joes .", fateObscured}, {"old", "", fateObscured}, {"b a", "c b .", fateObscured},
	} {
		before, _ := parseAttempts(c.before)
		now, complete := parseAttempts(c.now)
		if got := judgeMarkFate("ours", before, now, complete); got != c.want {
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
		want              writeFate
	}{
		{"only one came", "", addAttempt(object("3", ""), "m", "new"), fateLost},
		{"one that names itself, and one more", "", addAttempt(object("3", "old"), "m", "new"), fateObscured},
		{"the same, later", "b .", addAttempt(object("3", "old"), "m", "new"), fateObscured},
		{"one that kept what was there", "b .", addAttempt(object("3", "b ."), "m", "new"), fateLost},
		{"one that kept ours", "b", addAttempt(object("3", "me b"), "m", "new"), fateLanded},
	} {
		p := &patch{seen: object("1", c.before), attemptKey: "m", attempt: "me"}
		if got := p.judgeFate(object("4", c.now)); got != c.want {
			t.Errorf("%s: %q after %q is %v, want %v", c.name, c.now, c.before, got, c.want)
		}
	}
	if got := judgeObjectFate(
		object("9", "1 2 3 4 5 6 7 8 ."),
		"9",
		"m",
		"me",
		strings.Fields("1 2 3 4 5 6 7"),
	); got != fatePending {
		t.Errorf("an attempt that may still land is %v", got)
	}
}
