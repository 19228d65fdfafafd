package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/veltui/veltui/internal/demo"
	"github.com/veltui/veltui/internal/demo/scene"
	"github.com/veltui/veltui/internal/testbed"
)

var updateGoldens = flag.Bool("update-goldens", false, "write what the reading commands print anew")

// unanswered are the situations in which nobody answers a DownloadRequest, for which results waits 90 seconds.
var unanswered = map[string]bool{"TestGoldens/server-scaled-to-zero": true, "TestGoldens/server-gone": true}

// goldenNow is the present of all situations, by the clock of the program and of the cluster.
var goldenNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// goldenCommands are the commands that read, with JOB for the job that a situation is about. Those of jobs are left
// out where a situation has none.
var goldenCommands = []string{
	"get", "get -o wide", "get -o json", "get -o yaml", "get -o name", "get --stuck",
	"get schedules", "get storage -o wide", "get repositories", "get deletions",
	"check", "check -o json", "check --nagios",
	"describe JOB", "describe JOB -o json", "explain JOB", "explain JOB -o json", "results JOB", "results JOB -o json",
	"report JOB --no-artifacts", "finalize JOB --dry-run=server --yes", "finalize JOB --dry-run=server --yes -o json",
}

// goldenScreens are the commands whose output depends on the width of a terminal, and the widths.
var (
	goldenScreens = []string{"get", "get -o wide", "check", "explain JOB"}
	goldenWidths  = []uint16{80, 120}
)

// TestGoldens holds what the reading commands print of 15 situations and of the demo's scenes, byte by byte: without a
// terminal, and on one of 80 and of 120 columns. A change of the program changes nothing here, or exactly the lines
// that its commit names. With -update-goldens it writes the files anew.
func TestGoldens(t *testing.T) {
	if testbed.RaceDetector {
		t.Skip("the commands run whole without the race detector")
	}
	for _, pattern := range []string{"testdata/situations/*.yaml", "../demo/scenes/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 5 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, path := range files {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
				t.Parallel()
				compareGolden(t, path, printSituation(t, path))
			})
		}
	}
}

func compareGolden(t *testing.T, scenePath, printed string) {
	t.Helper()
	path := filepath.Join("testdata", "goldens", strings.TrimSuffix(filepath.Base(scenePath), ".yaml")+".golden")
	if *updateGoldens {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffLines(string(want), printed); diff != "" {
		t.Errorf("%s differs (go test ./internal/cmd -run TestGoldens -update-goldens writes it anew):\n%s", path, diff)
	}
}

// diffLines returns the first lines in which two texts differ, with the command that printed them; empty if they are
// equal.
func diffLines(want, got string) string {
	const most = 10
	wanted, lines := strings.Split(want, "\n"), strings.Split(got, "\n")
	command := ""
	for i := range max(len(wanted), len(lines)) {
		a, b := lineAt(wanted, i), lineAt(lines, i)
		if strings.HasPrefix(a, "$ ") {
			command = a
		}
		if a == b {
			continue
		}
		var out strings.Builder
		fmt.Fprintf(&out, "line %d, %s\n", i+1, command)
		for n := i; n < i+most && n < max(len(wanted), len(lines)); n++ {
			fmt.Fprintf(&out, "-%s\n+%s\n", lineAt(wanted, n), lineAt(lines, n))
		}
		return out.String()
	}
	return ""
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// servedScene is a scene that is served, with a program beside it whose clock stands still.
type servedScene struct {
	*testing.T
	*demo.Demo
	home string
}

// printSituation runs all commands on a scene.
func printSituation(t *testing.T, path string) string {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	d, err := demo.Start(
		demo.Options{
			Scene: file,
			Clock: func() time.Time { return goldenNow },
			UID:   "aaaaaaaa-0000-4000-8000-000000000001",
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	subject := subjectOf(t, path)
	s := servedScene{t, d, t.TempDir()}
	var out strings.Builder
	add := func(command string, width uint16) {
		if strings.Contains(command, "JOB") && subject == "" ||
			strings.HasPrefix(command, "results ") && unanswered[t.Name()] {
			return
		}
		command = strings.ReplaceAll(command, "JOB", subject)
		title := "$ veltui " + command
		if width > 0 {
			title += fmt.Sprintf("    # on a terminal of %d columns", width)
		}
		fmt.Fprintf(&out, "%s\n%s\n", title, s.filter(s.print(command, width)))
	}
	for _, command := range goldenCommands {
		add(command, 0)
	}
	for _, command := range goldenScreens {
		for _, width := range goldenWidths {
			add(command, width)
		}
	}
	return out.String()
}

func subjectOf(t *testing.T, path string) string {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	loaded, err := scene.Load(file, goldenNow)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Expect.Job
}

// print runs one command in this process, on a terminal if width is not 0, and returns what it prints, with the exit
// code.
func (s servedScene) print(command string, width uint16) string {
	errs, err := os.CreateTemp(s.home, "stderr")
	if err != nil {
		s.Fatal(err)
	}
	defer errs.Close() //nolint:errcheck // what it holds is read below
	stdout, read := s.output(width)
	null, err := os.Open(os.DevNull)
	if err != nil {
		s.Fatal(err)
	}
	defer null.Close() //nolint:errcheck // nothing is written
	c := newCLI(null, stdout, errs)
	c.process.clock = func() time.Time { return goldenNow }
	c.process.getenv = func(name string) string {
		return map[string]string{"HOME": s.home, "TERM": "xterm-256color", "NO_COLOR": "1", "LANG": "C.UTF-8"}[name]
	}
	code := c.runCommand(s.Context(), append([]string{"veltui", "--kubeconfig", s.Kubeconfig}, strings.Fields(command)...))
	out := read()
	said, err := os.ReadFile(errs.Name())
	if err != nil {
		s.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(said), "\n"), "\n") {
		if line != "" {
			out += "! " + line + "\n"
		}
	}
	if code != ExitOK {
		out += fmt.Sprintf("(exit code %d)\n", code)
	}
	return out
}

// output is where a command prints to, and reads what it printed.
func (s servedScene) output(width uint16) (file *os.File, read func() string) {
	if width == 0 {
		file, err := os.CreateTemp(s.home, "stdout")
		if err != nil {
			s.Fatal(err)
		}
		return file, func() string {
			defer file.Close() //nolint:errcheck // it is read whole
			text, err := os.ReadFile(file.Name())
			if err != nil {
				s.Fatal(err)
			}
			return string(text)
		}
	}
	master, terminal, err := pty.Open()
	if err != nil {
		s.Fatal(err)
	}
	if err := pty.Setsize(terminal, &pty.Winsize{Cols: width, Rows: 40}); err != nil {
		s.Fatal(err)
	}
	var printed bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&printed, master) // until the last user of the terminal has closed it
	}()
	return terminal, func() string {
		_ = terminal.Close()
		<-done
		_ = master.Close()
		return strings.ReplaceAll(printed.String(), "\r\n", "\n")
	}
}

// What differs from run to run without a meaning: addresses, folders, and the words by which attempts are told apart.
var (
	goldenAddress   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	goldenAuthority = regexp.MustCompile(`"certificateAuthority": "sha256:[0-9a-f]+"`)
	goldenAttempt   = regexp.MustCompile(`\b[a-z2-7]{26}\b`)
	goldenSkew      = regexp.MustCompile(`would write differ by \d+d`)
	goldenVersion   = regexp.MustCompile(`veltui (dev|\(devel\)|v?\d+\.\S+)`)
)

func (s servedScene) filter(text string) string {
	for _, folder := range slices.Backward([]string{s.home, s.Dir}) {
		text = strings.ReplaceAll(text, folder, "/FOLDER")
	}
	text = goldenAddress.ReplaceAllString(text, "ADDRESS")
	text = goldenAuthority.ReplaceAllString(text, `"certificateAuthority": "DIGEST"`)
	text = goldenSkew.ReplaceAllString(text, "would write differ by DAYS") // from the day on which the tests run
	text = goldenAttempt.ReplaceAllString(text, "ATTEMPT")
	return goldenVersion.ReplaceAllString(text, "veltui VERSION")
}
