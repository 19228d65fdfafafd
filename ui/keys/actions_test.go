package keys

import (
	"strings"
	"testing"
)

func TestKeysThatCannotBeChosen(t *testing.T) {
	for key, want := range map[string]string{
		"ctrl+c": "always quits", "ctrl+i": "as tab", "alt+x": "esc and the key", "shift+f": `write "F"`, "pgdn": "is no key", "": "is no key", "ff": "is no key",
		"\x1b": "is no key", " ": "is no key", "é": "", "F": "", "ctrl+x": "", "shift+tab": "", "ctrl+left": "", "f5": "", "?": "",
	} {
		why := (&Action{}).KeyProblem(key)
		if (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%q: %q, want %q", key, why, want)
		}
	}
	typed := &Action{WhileTyping: true}
	if typed.KeyProblem("x") == "" || typed.KeyProblem("ctrl+x") != "" || typed.KeyProblem("f5") != "" {
		t.Error("a key that works while a name is typed may be a letter, or no other")
	}
}

func TestConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		chosen Overrides
		want   string
	}{
		"none":                    {Overrides{"finalize": {"F"}}, "finalize F follow"},
		"free":                    {Overrides{"finalize": {"Z"}}, ""},
		"digits":                  {Overrides{"finalize": {"5"}}, "finalize 5 "},
		"other screens":           {Overrides{"dry-run": {"f"}}, ""},
		"the dialog's own":        {Overrides{"dry-run": {"enter"}}, "dry-run enter "},
		"swapped":                 {Overrides{"sort": {"m"}, "mark": {"s"}}, ""},
		"half of a swap":          {Overrides{"sort": {"m"}}, "sort m mark"},
		"two chosen":              {Overrides{"sort": {"z"}, "mark": {"z"}}, "mark z sort"},
		"another key stays":       {Overrides{"open": {"enter", "s"}}, "open s sort|open s save"},
		"closing help stays":      {Overrides{"down": {"h"}}, "down h |down h back"},
		"reconnect in the dialog": {Overrides{"reconnect": {"w"}}, "reconnect w wrap"},
	} {
		var found []string
		for _, conflict := range c.chosen.FindConflicts() {
			found = append(found, conflict.Action+" "+conflict.Key+" "+conflict.OtherAction)
		}
		if got := strings.Join(found, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
