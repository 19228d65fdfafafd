package cmd

import "testing"

// The first of LC_ALL, LC_CTYPE and LANG that is set decides about signs, and TERM
// about all else.
func TestTerminalByItsEnvironment(t *testing.T) {
	type env map[string]string
	for _, test := range []struct {
		env                       env
		utf8, color, window, dumb bool
	}{
		{env{"TERM": "xterm-256color", "LANG": "C.UTF-8"}, true, true, true, false},
		{env{"TERM": "xterm", "LANG": "de_DE.utf8@euro"}, true, true, true, false},
		{env{"TERM": "tmux-256color", "LC_CTYPE": "UTF-8"}, true, true, true, false},
		{env{"TERM": "screen", "LANG": "C"}, false, true, true, false},
		{env{"TERM": "screen"}, false, true, true, false},
		{env{"TERM": "xterm", "LANG": "en_US.UTF-8", "LC_ALL": "C"}, false, true, true, false},
		{env{"TERM": "xterm", "LANG": "C", "LC_CTYPE": "POSIX", "LC_ALL": "en_US.UTF8"}, true, true, true, false},
		{env{"TERM": "xterm", "LANG": "C", "LC_CTYPE": "en_US.UTF-8", "LC_ALL": ""}, true, true, true, false},
		{env{"TERM": "xterm", "LANG": "ja_JP.eucJP"}, false, true, true, false},
		{env{"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "0"}, true, false, true, false},
		{env{"TERM": "linux", "LANG": "C.UTF-8"}, false, true, false, false},
		{env{"TERM": "linux-16color", "LANG": "C.UTF-8"}, false, true, false, false},
		{env{"TERM": "vt100", "LANG": "C.UTF-8"}, false, false, false, false},
		{env{"TERM": "vt220-w", "LANG": "C.UTF-8"}, false, false, false, false},
		{env{"TERM": "vte-256color", "LANG": "C.UTF-8"}, true, true, true, false},
		{env{"TERM": "dumb", "LANG": "C.UTF-8"}, false, false, false, true},
		{env{"TERM": "unknown"}, false, false, false, true},
	} {
		c := newCLI(nil, nil, nil)
		c.process.getenv = func(name string) string { return test.env[name] }
		got := c.stdio.detectTerminal()
		if got.utf8 != test.utf8 || got.color != test.color || got.hasWindow != test.window || got.dumb != test.dumb {
			t.Errorf("%v: %+v", test.env, got)
		}
	}
}
