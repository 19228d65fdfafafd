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
		why := (&Action{}).Fault(key)
		if (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%q: %q, want %q", key, why, want)
		}
	}
	typed := &Action{Typed: true}
	if typed.Fault("x") == "" || typed.Fault("ctrl+x") != "" || typed.Fault("f5") != "" {
		t.Error("a key that works while a name is typed may be a letter, or no other")
	}
}

func TestConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		chosen Map
		want   string
	}{
		"none":                    {Map{"finalize": {"F"}}, "finalize F follow"},
		"free":                    {Map{"finalize": {"Z"}}, ""},
		"digits":                  {Map{"finalize": {"5"}}, "finalize 5 "},
		"other screens":           {Map{"dry-run": {"f"}}, ""},
		"the dialog's own":        {Map{"dry-run": {"enter"}}, "dry-run enter "},
		"swapped":                 {Map{"sort": {"m"}, "mark": {"s"}}, ""},
		"half of a swap":          {Map{"sort": {"m"}}, "sort m mark"},
		"two chosen":              {Map{"sort": {"z"}, "mark": {"z"}}, "mark z sort"},
		"another key stays":       {Map{"open": {"enter", "s"}}, "open s sort|open s save"},
		"closing help stays":      {Map{"down": {"h"}}, "down h |down h back"},
		"reconnect in the dialog": {Map{"reconnect": {"w"}}, "reconnect w wrap"},
	} {
		var found []string
		for _, conflict := range c.chosen.Conflicts() {
			found = append(found, conflict.Action+" "+conflict.Key+" "+conflict.Other)
		}
		if got := strings.Join(found, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
