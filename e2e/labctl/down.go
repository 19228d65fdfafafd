package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// stopLab ends the process that holds the lab, and waits until it is gone.
func stopLab() error {
	running, err := readState()
	if err != nil {
		return err
	}
	if running == nil {
		fmt.Println("no lab runs")
		return nil
	}
	process, err := os.FindProcess(running.PID)
	if err != nil {
		return err
	}
	if err := process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ending the lab (process %d): %w", running.PID, err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if lock, err := acquireLock(); err == nil {
			fmt.Println("the lab has ended")
			return lock.Close()
		}
	}
	return fmt.Errorf("the lab (process %d) has not ended after a minute; see %s", running.PID, logFile)
}
