package cluster

import (
	"errors"
	"strings"
	"testing"
)

// The last line of a log says why its container ended, however long the lines before it are.
func TestFatalLineIsTheLastOne(t *testing.T) {
	const fatal = "panic: index out of range"
	before := strings.Repeat(strings.Repeat("x", 600)+"\n", int(maxFatalLines)-1)
	if line, err := findFatalLine(strings.NewReader(before + fatal)); err != nil || line.Text != fatal {
		t.Errorf("%+v, %v", line, err)
	}
	before = strings.Repeat(strings.Repeat("x", 8<<10)+"\n", int(maxFatalLines)-1)
	if line, err := findFatalLine(strings.NewReader(before + fatal)); !errors.Is(err, errLogCut) || line.Text != "" {
		t.Errorf("a log that was not read to its end: %+v, %v", line, err)
	}
}
