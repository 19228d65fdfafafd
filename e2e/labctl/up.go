package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// startTimeout is generous: a loaded machine may need a minute or two.
const startTimeout = 10 * time.Minute

// startLab starts a process that holds the lab, waits until it is ready, and says
// how to use it.
func startLab() error {
	running, err := readState()
	if err != nil {
		return err
	}
	if running == nil {
		if running, err = launchServer(); err != nil {
			return err
		}
	}
	running.printUsage()
	return nil
}

// launchServer starts `labctl serve` in a session of its own and waits for it.
func launchServer() (*labState, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // serve has its own descriptor
	cmd := exec.Command(self, "serve")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	fmt.Println("starting the lab (about 20 seconds)")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	timeout := time.After(startTimeout)
	for {
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the lab did not start (%w); see %s", err, logFile)
		case <-timeout:
			return nil, errors.Join(
				fmt.Errorf("the lab was not ready after %s; see %s", startTimeout, logFile),
				cmd.Process.Signal(syscall.SIGTERM),
			)
		case <-time.After(100 * time.Millisecond):
			if s, err := readState(); err == nil && s != nil {
				return s, nil
			}
		}
	}
}

func (s labState) printUsage() {
	fmt.Printf(`
The lab runs: Velero %s with about 2,000 objects and a backup "full" of them.

  veltui      bin/veltui --kubeconfig %[2]s -n %[3]s
  kubectl     kubectl --kubeconfig %[2]s -n %[3]s get backups,restores
  velero CLI  %[4]s --kubeconfig %[2]s -n %[3]s restore create --from-backup full --namespace-mappings shop:shop-2

Logs are in %[5]s/logs. End it with: make lab-down
`, s.Version, s.Kubeconfig, lab.Namespace, s.VeleroCLI, s.Dir)
}

// serveLab holds a lab until it is told to end.
func serveLab() (err error) {
	lock, err := acquireLock()
	for range 20 { // up and down take the lock for a moment when they look
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(50 * time.Millisecond)
		lock, err = acquireLock()
	}
	if err != nil {
		return fmt.Errorf("another lab runs: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	defer func() { err = errors.Join(err, os.RemoveAll(stateFile)) }()
	if err := os.RemoveAll(stateFile); err != nil { // of a lab that crashed
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()

	l, err := lab.Start(ctx, lab.Options{Seed: seed.New(1), OnStep: func(what string, took time.Duration) {
		fmt.Printf("%-24s %5.1f s\n", what, took.Seconds())
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Stop()) }()
	if err := l.CreateBackup(ctx, "full", veleroapi.BackupSpec{}, nil); err != nil {
		return err
	}
	s := labState{
		PID:        os.Getpid(),
		Version:    l.Version,
		Dir:        l.Dir(),
		Kubeconfig: l.Kubeconfig(),
		VeleroCLI:  l.VeleroCLIPath(),
	}
	if err := s.saveState(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
