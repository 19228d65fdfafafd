package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is an interactive shell with job control on a terminal.
type shell struct {
	*console
	asked int // questions to the shell
}

func startShell(t *testing.T, env []string) *shell {
	t.Helper()
	for _, name := range []string{"bash", "/proc/self/stat"} {
		if _, err := exec.LookPath(name); err != nil && !filepath.IsAbs(name) {
			t.Skip(name + " is not installed")
		}
		if _, err := os.Stat(name); filepath.IsAbs(name) && err != nil {
			t.Skip("no /proc on this system")
		}
	}
	cmd := exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	cmd.Env = append(env, "PS1=ready> ", "HISTFILE=/dev/null")
	s := &shell{console: startConsole(t, cmd, 120, 40)}
	s.sees(t, "ready>")
	return s
}

// jobs are the processes that the shell has started and that still live.
func (s *shell) jobs(t *testing.T) []int {
	t.Helper()
	pid := s.Cmd.Process.Pid
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip("this system does not list children")
	}
	var jobs []int
	for field := range strings.FieldsSeq(string(list)) {
		job, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// run types a command, waits for the words on the screen and returns the process.
func (s *shell) run(t *testing.T, command string, words ...string) int {
	t.Helper()
	s.types(t, command+"\n")
	var jobs []int
	eventually(t, command+" runs", func() bool { jobs = s.jobs(t); return len(jobs) > 0 })
	for _, word := range words { // once more than in the echo of the command
		eventually(
			t,
			command+" prints "+word,
			func() bool { return strings.Count(s.OutputText(), word) > strings.Count(command, word) },
		)
	}
	return jobs[len(jobs)-1]
}

// processState is a process's state of proc(5), empty if it has ended.
func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	state, _, _ := strings.Cut(after, " ")
	return state
}

// isStopped reports whether all threads of a process are stopped: the first of them stops before the kernel tells the
// parent, and until then the shell takes the job for one that runs.
func isStopped(pid int) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(tasks) == 0 {
		return false
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil || processState(tid) != "T" {
			return false
		}
	}
	return true
}

// stops waits until the shell has taken notice that a job is stopped, and holds the
// terminal to what a shell needs. To a shell that has not, fg is about a job that runs: it does not continue it.
func (s *shell) stops(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the process is stopped", func() bool { return isStopped(pid) })
	eventually(t, "the shell knows that the job is stopped", func() bool {
		return slices.Contains(s.answers(t, "jobs -sp"), strconv.Itoa(pid))
	})
	on := modesOn(s.OutputText())
	for _, mode := range []string{"1049", "2004", "2026", "1002", "1003", "1004", "1006"} {
		if on[mode] {
			t.Errorf("mode %s stays on while it is stopped", mode)
		}
	}
	if !on["25"] {
		t.Error("the cursor stays hidden while it is stopped")
	}
}

// answers types a command that the shell runs itself, and returns the lines that it prints. What was typed before is
// done by then.
func (s *shell) answers(t *testing.T, command string) []string {
	t.Helper()
	s.asked++
	before := len(s.OutputText())
	// The echo of what is typed has neither mark.
	s.types(t, fmt.Sprintf("printf 'begin-%%d\\n' %[1]d; %[2]s; printf 'end-%%d\\n' %[1]d\n", s.asked, command))
	begin, end := fmt.Sprintf("begin-%d\r\n", s.asked), fmt.Sprintf("end-%d\r\n", s.asked)
	var answer string
	eventually(t, "the shell runs "+command, func() (ended bool) {
		_, answer, _ = strings.Cut(s.OutputText()[before:], begin)
		answer, _, ended = strings.Cut(answer, end)
		return ended
	})
	return strings.Split(answer, "\r\n")
}

// shellLine is a command line for the shell.
func shellLine(args []string) string {
	for i, arg := range args {
		args[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(args, " ")
}

// The dashboard is a job like any other: ctrl+z and SIGTSTP stop it and give the
// terminal back, and fg redraws it.
func TestTheDashboardIsAJob(t *testing.T) {
	demo := demoCommand(t)
	for _, c := range []struct {
		name string
		// keys are typed before each stop, and seen is on the screen then.
		keys, seen string
		stop       func(s *shell, t *testing.T, pid int)
	}{
		{"ctrl+z", "", "[1 Active]", func(s *shell, t *testing.T, _ int) { s.types(t, "\x1a") }},
		{"SIGTSTP", "", "[1 Active]", func(_ *shell, t *testing.T, pid int) { signalProcess(t, pid, syscall.SIGTSTP) }},
		{"SIGTSTP to the group", "", "[1 Active]", func(_ *shell, t *testing.T, pid int) { signalProcess(t, -pid, syscall.SIGTSTP) }},
		{"SIGTSTP twice", "", "[1 Active]", func(_ *shell, t *testing.T, pid int) {
			signalProcess(t, pid, syscall.SIGTSTP)
			signalProcess(t, pid, syscall.SIGTSTP)
		}},
		{"ctrl+z in a dialog", "f", "Finalize restore", func(s *shell, t *testing.T, _ int) { s.types(t, "\x1a") }},
		{"ctrl+z in the filter", "/crm", "crm-rollback", func(s *shell, t *testing.T, _ int) { s.types(t, "\x1a") }},
		{"ctrl+z in the command line", ":act", ":act", func(s *shell, t *testing.T, _ int) { s.types(t, "\x1a") }},
		{"ctrl+z in a search", "?/half", "half a page up", func(s *shell, t *testing.T, _ int) { s.types(t, "\x1a") }},
		{"ctrl+z in a form", "R", "Namespaces", func(s *shell, t *testing.T, _ int) { s.types(t, "\x1a") }},
		{"ctrl+z in the help", "?", "half a page up", func(s *shell, t *testing.T, _ int) { s.types(t, "\x1a") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startShell(t, demo.Env)
			pid := s.run(t, shellLine([]string{demo.Path})+" demo", "live", "crm-rollback")
			s.types(t, c.keys)
			s.sees(t, c.seen)
			for range 3 {
				c.stop(s, t, pid)
				s.stops(t, pid)
				if screen := s.ScreenText(); !strings.Contains(screen, "Stopped") || strings.Contains(screen, "live") {
					t.Errorf("the shell shows\n%s", screen)
				}
				s.types(t, "fg\n")
				s.sees(t, "live", c.seen)
				if state := processState(pid); state == "T" {
					t.Errorf("it draws in state %s", state)
				}
				s.settles(t) // keys that come while the terminal is taken are lost
			}
			signalProcess(t, pid, syscall.SIGTERM)
			eventually(t, "the dashboard has ended", func() bool { return gone(pid) })
			s.types(t, "exit\n")
			s.exits(t)
		})
	}
}

func signalProcess(t *testing.T, pid int, number syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, number); err != nil {
		t.Fatal(err)
	}
}

// In the background it may not take the terminal: the system stops it until fg.
func TestTheDashboardInTheBackground(t *testing.T) {
	t.Parallel()
	demo := demoCommand(t)
	s := startShell(t, demo.Env)
	s.types(t, shellLine([]string{demo.Path})+" demo &\n")
	eventually(t, "the job runs", func() bool { return len(s.jobs(t)) == 1 })
	pid := s.jobs(t)[0]
	s.stops(t, pid)
	s.types(t, "fg\n")
	s.sees(t, "live", "[1 Active]")
	s.settles(t)
	s.types(t, "\x1a")
	s.stops(t, pid)
	s.types(t, "bg\n")
	s.stops(t, pid)
	s.types(t, "fg\n")
	s.sees(t, "live", "[1 Active]")
	s.settles(t)
	s.types(t, "\x1a")
	s.stops(t, pid)
	// A shell that ends takes its stopped jobs with it.
	s.types(t, "exit\nexit\n")
	s.exits(t)
	eventually(t, "the dashboard has ended", func() bool { return gone(pid) })
}

// A script's foreground process is stopped with the script.
func TestAScriptsDashboardIsAJob(t *testing.T) {
	t.Parallel()
	demo := demoCommand(t)
	s := startShell(t, demo.Env)
	pid := s.run(
		t,
		"bash -c "+shellLine([]string{shellLine([]string{demo.Path}) + " demo; echo over"}),
		"live",
		"crm-rollback",
	)
	for range 2 {
		s.types(t, "\x1a")
		s.stops(t, pid)
		s.types(t, "fg\n")
		s.sees(t, "live", "crm-rollback")
		s.settles(t)
	}
	s.types(t, "q")
	s.sees(t, "over")
	eventually(
		t,
		"the shell takes a line",
		func() bool { return strings.HasSuffix(strings.TrimSpace(s.ScreenText()), "ready>") },
	)
	s.types(t, "exit\n")
	s.exits(t)
}

// Without job control, as of a session leader, nobody could continue it: it redraws
// and goes on.
func TestTheDashboardWithoutJobControl(t *testing.T) {
	t.Parallel()
	before := freshTermios(t)
	cmd := demoCommand(t)
	c := startConsole(t, cmd, 80, 24)
	c.sees(t, "live", "crm-rollback")
	entered := func() int { return strings.Count(c.OutputText(), "\x1b[?1049h") }
	for _, stop := range []func(){
		func() { c.types(t, "\x1a") },
		func() { signalProcess(t, cmd.Process.Pid, syscall.SIGTSTP) },
	} {
		drawn := entered()
		stop()
		eventually(t, "it redraws", func() bool { return entered() > drawn })
		c.settles(t)
		c.sees(t, "live", "crm-rollback")
		if state := processState(cmd.Process.Pid); state == "T" {
			t.Error("it is stopped, and nobody will continue it")
		}
	}
	c.types(t, "2")
	c.sees(t, "[2 ")
	c.types(t, "q")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	c.checkSane(t, before)
}

// Commands that draw no screen are stopped by the system itself.
func TestCommandsAreJobs(t *testing.T) {
	b := control(t)
	b.quiet(t, inProgress("a-job", time.Hour))
	for _, c := range []struct {
		args []string
		seen string
	}{
		{[]string{"get", "-w"}, "a-job"},
		{[]string{"--plain"}, "a-job"},
		{[]string{"wait", "restore/a-job"}, "a-job"},
		{[]string{"finalize", "restore/a-job", "--phase", "Failed"}, "to confirm"},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			cmd := b.command(t, c.args...)
			s := startShell(t, cmd.Env)
			pid := s.run(t, shellLine(cmd.Args), c.seen)
			for _, stop := range []func(){
				func() { s.types(t, "\x1a") },
				func() { signalProcess(t, pid, syscall.SIGTSTP) },
			} {
				stop()
				s.stops(t, pid)
				seen := strings.Count(s.OutputText(), c.seen)
				s.types(t, "fg\n")
				eventually(t, "it goes on", func() bool { return strings.Contains("SR", processState(pid)) })
				if again, draws := map[string]int{"wait": 2, "finalize": 1}[c.args[0]]; draws {
					eventually(
						t,
						"it shows again where it stands",
						func() bool { return strings.Count(s.OutputText(), c.seen) >= seen+again },
					)
				}
			}
			s.types(t, "\x03")
			eventually(t, "it has ended", func() bool { return gone(pid) })
			s.types(t, "exit\n")
			s.exits(t)
		})
	}
}
