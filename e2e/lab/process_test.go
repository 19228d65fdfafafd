package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startFamily runs a shell that starts a child of its own, as velero starts
// plugins, and returns the child's process id.
func startFamily(t *testing.T, dir, onTerm string) (*process, int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(
		`trap '%s' TERM; sleep 600 & echo $! > child.tmp && mv child.tmp child; while :; do wait; done`,
		onTerm,
	)
	s, err := program{name: "family", path: "/bin/sh", args: []string{"-c", script}}.startProcess(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.killGroup(); err != nil {
			t.Error(err)
		}
	})
	var child int
	err = pollUntil(patient(t), "the child to start", func() (bool, error) {
		data, err := os.ReadFile(filepath.Join(dir, "child"))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err == nil {
			child, err = strconv.Atoi(strings.TrimSpace(string(data)))
		}
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, child
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// gone reports whether a process has ended. One that nobody has waited for yet
// is a zombie, and has ended too.
func gone(pid int) (bool, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
	return bytes.HasPrefix(state, []byte("Z")), err
}

func wantGone(t *testing.T, what string, pid int) {
	t.Helper()
	if err := pollUntil(patient(t), what+" to end", func() (bool, error) { return gone(pid) }); err != nil {
		t.Error(err)
	}
}

func TestKillEndsAllThatAServerStarted(t *testing.T) {
	needProc(t)
	dir := t.TempDir()
	s, child := startFamily(t, dir, "")
	if data, err := os.ReadFile(
		filepath.Join(dir, "family.pid"),
	); err != nil ||
		strings.TrimSpace(string(data)) != "-"+strconv.Itoa(s.pid) {
		t.Errorf("the watchdog reads %q, %v; want the process group of %d", data, err, s.pid)
	}
	if err := s.killGroup(); err != nil {
		t.Fatal(err)
	}
	if s.isRunning() {
		t.Error("the server is said to run after it was killed")
	}
	wantGone(t, "the child", child)
	if _, err := os.Stat(filepath.Join(dir, "family.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the process id is still written down: %v", err)
	}
	if err := s.killGroup(); err != nil {
		t.Errorf("killing it again: %v", err)
	}
}

func TestTerminateLetsAServerEndByItself(t *testing.T) {
	needProc(t)
	dir := t.TempDir()
	s, child := startFamily(t, dir, "echo last words; exit 0")
	if err := s.terminateGroup(patient(t)); err != nil {
		t.Fatal(err)
	}
	if s.err != nil {
		t.Errorf("it ended with %v, want its own end", s.err)
	}
	wantGone(t, "the child that it left behind", child)
	if log, err := os.ReadFile(logFile(dir, "family")); err != nil || string(log) != "last words\n" {
		t.Errorf("its log is %q, %v", log, err)
	}
}

func needProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("processes are looked at through /proc, which this system does not have")
	}
}
