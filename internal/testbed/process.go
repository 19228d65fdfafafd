package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// dataDir is where etcd keeps its data, in the test bed's folder.
const dataDir = "data"

// wrapPrograms makes envtest start each server through a script that writes
// its process id down and then becomes the server: envtest itself does not
// tell the ids, and to kill, stop or watch over a server we need them.
func (c *ControlPlane) wrapPrograms(assets string) error {
	wrap := func(program string) (string, error) {
		path := filepath.Join(c.dir, program)
		script := fmt.Sprintf(
			"#!/bin/sh\necho $$ > '%s'\nexec '%s' \"$@\"\n",
			c.pidFile(program),
			filepath.Join(assets, program),
		)
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			return "", fmt.Errorf("wrapping %s: %w", program, err)
		}
		return path, nil
	}
	apiServerPath, err := wrap(apiServerProgram)
	if err != nil {
		return err
	}
	etcdPath, err := wrap(etcdProgram)
	if err != nil {
		return err
	}
	apiServer := c.env.ControlPlane.GetAPIServer()
	apiServer.Path = apiServerPath
	apiServer.CertDir = filepath.Join(c.dir, "certs")
	apiServer.StartTimeout = startTimeout
	apiServerPort, err := FreePort()
	if err != nil {
		return err
	}
	apiServer.SecureServing.Address, apiServer.SecureServing.Port = "127.0.0.1", strconv.Itoa(apiServerPort)
	etcdPort, err := FreePort()
	if err != nil {
		return err
	}
	c.env.ControlPlane.Etcd = &envtest.Etcd{
		URL:          &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(etcdPort))},
		Path:         etcdPath,
		DataDir:      filepath.Join(c.dir, dataDir),
		StartTimeout: startTimeout,
	}
	return errors.Join(os.Mkdir(apiServer.CertDir, 0o700), os.Mkdir(filepath.Join(c.dir, dataDir), 0o700))
}

func (c *ControlPlane) pidFile(program string) string {
	return filepath.Join(c.dir, program+".pid")
}

func (c *ControlPlane) readPID(program string) (int, error) {
	data, err := os.ReadFile(c.pidFile(program))
	if err != nil {
		return 0, fmt.Errorf("finding the process id of %s: %w", program, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("reading the process id of %s: %w", program, err)
	}
	return pid, nil
}

func (c *ControlPlane) sendSignal(program string, sig syscall.Signal) error {
	pid, err := c.readPID(program)
	if err != nil {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("finding %s: %w", program, err)
	}
	if err := process.Signal(sig); err != nil {
		return fmt.Errorf("sending %s to %s: %w", sig, program, err)
	}
	return nil
}

// pauseProgram stops a program, and returns once each of its threads has stopped: SIGSTOP
// itself does not wait for them, and one that still runs may answer.
func (c *ControlPlane) pauseProgram(program string) error {
	if err := c.sendSignal(program, syscall.SIGSTOP); err != nil {
		return err
	}
	pid, err := c.readPID(program)
	if err != nil {
		return err
	}
	threads := filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		files, _ := filepath.Glob(threads) // none where there is no /proc
		running := slices.ContainsFunc(files, func(file string) bool {
			stat, err := os.ReadFile(file)
			_, state, _ := strings.Cut(string(stat), ") ")
			return err == nil && !strings.HasPrefix(state, "T")
		})
		switch {
		case !running:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%s still runs after SIGSTOP", program)
		}
	}
}

// KillAPIServer ends kube-apiserver as a crash would (SIGKILL) and waits until
// it is gone; etcd and the data stay.
func (c *ControlPlane) KillAPIServer() error {
	if err := c.sendSignal(apiServerProgram, syscall.SIGKILL); err != nil {
		return err
	}
	deadline := time.Now().Add(30 * time.Second)
	for c.sendSignal(apiServerProgram, 0) == nil {
		if time.Now().After(deadline) {
			return errors.New("kube-apiserver is still there after SIGKILL")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// StartAPIServer starts kube-apiserver again after KillAPIServer, on the same
// port with the same data, and waits until it is ready.
func (c *ControlPlane) StartAPIServer(context.Context) error {
	if err := c.env.ControlPlane.GetAPIServer().Start(); err != nil {
		return fmt.Errorf("starting kube-apiserver again: %w", err)
	}
	return nil
}

// PauseAPIServer makes kube-apiserver hang (SIGSTOP): connections stay open,
// nothing is answered.
func (c *ControlPlane) PauseAPIServer() error { return c.pauseProgram(apiServerProgram) }

// ResumeAPIServer ends the hang (SIGCONT).
func (c *ControlPlane) ResumeAPIServer() error {
	return c.sendSignal(apiServerProgram, syscall.SIGCONT)
}

// PauseEtcd makes etcd hang (SIGSTOP) until ResumeEtcd: the API server lives, and can
// neither read nor write.
func (c *ControlPlane) PauseEtcd() error { return c.pauseProgram(etcdProgram) }

// ResumeEtcd ends the hang (SIGCONT).
func (c *ControlPlane) ResumeEtcd() error { return c.sendSignal(etcdProgram, syscall.SIGCONT) }
