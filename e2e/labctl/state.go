package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// The files by which up and down know of the lab, in the module's bin folder.
// The process that holds the lab holds a lock on lockFile, so a state that a
// crash left behind is never taken for a running lab, nor a stranger's process
// for ours.
var (
	stateFile = filepath.Join("bin", "lab.json")
	lockFile  = filepath.Join("bin", "lab.lock")
	logFile   = filepath.Join("bin", "lab.log")
)

// labState is what a running lab tells about itself.
type labState struct {
	PID        int    `json:"pid"`
	Version    string `json:"version"`
	Dir        string `json:"dir"`
	Kubeconfig string `json:"kubeconfig"`
	VeleroCLI  string `json:"veleroCLI"`
}

// readState returns the state of the lab that runs, nil if none does.
func readState() (*labState, error) {
	lock, err := acquireLock()
	if err == nil {
		return nil, lock.Close()
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, err
	}
	data, err := os.ReadFile(stateFile)
	if err != nil {
		return nil, fmt.Errorf("the lab is just starting or ending: %w", err)
	}
	var s labState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", stateFile, err)
	}
	return &s, nil
}

func (s labState) saveState() error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(stateFile, data, 0o600)
}

// acquireLock takes the lock; closing the file gives it back.
func acquireLock() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(lockFile), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
