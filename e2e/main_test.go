//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// seedNumber is fixed so that every run has the same objects.
const seedNumber = 1

// full is the backup of everything that most scenarios restore from.
const full = "full"

// patience bounds every wait for Velero. It is far above what any scenario
// needs, so that a slow machine fails none; E2E_PATIENCE shortens it for who
// mends a test.
var patience = 8 * time.Minute

// The lab, what a raw watch records of it and what veltui tells of it, which
// all tests share.
var (
	theLab      *lab.Lab
	recorder    *lab.Recorder
	veltuiTells *follower
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	if shorter, err := time.ParseDuration(os.Getenv("E2E_PATIENCE")); err == nil {
		patience = shorter
	}
	began := time.Now()
	step := func(what string, took time.Duration) { fmt.Printf("lab: %-24s %5.1f s\n", what, took.Seconds()) }
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if theLab, err = lab.Start(
		ctx,
		lab.Options{Seed: seed.JoinSets(seed.New(seedNumber), seed.NewRuleSet()), OnStep: step},
	); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if code != 0 {
			keepLogs(theLab.Dir())
		}
		stopped := time.Now()
		dir := theLab.Dir()
		if err := errors.Join(theLab.Stop(), leftOver(dir)); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the lab:", err)
			code = 1
		}
		step("stop", time.Since(stopped))
		step("everything", time.Since(began))
	}()
	if err := prepare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "preparing the lab:", err)
		return 1
	}
	code = m.Run()
	for _, err := range []error{veltuiTells.stop(), recorder.Stop(), keep()} {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// prepare starts to watch the cluster, raw and through veltui.
func prepare(ctx context.Context) error {
	out, err := os.Create(filepath.Join(theLab.Dir(), "watch.jsonl"))
	if err != nil {
		return err
	}
	if recorder, err = lab.StartRecorder(theLab.RESTConfig(), out); err != nil {
		return err
	}
	home, err := os.MkdirTemp(theLab.Dir(), "home-")
	if err != nil {
		return err
	}
	if veltuiTells, err = follow(theLab.Kubeconfig(), home); err != nil {
		return err
	}
	return bothFollow(ctx, "first")
}

// bothFollow returns once the recorder and veltui have both met a new Backup
// and a new Restore: from then on neither has an excuse for missing anything.
// After the API server was away it takes clients a few seconds to follow again.
// The two have ended when they are made, so that Velero leaves them alone.
func bothFollow(ctx context.Context, name string) error {
	meta := metav1.ObjectMeta{Namespace: lab.Namespace, Name: name}
	for _, object := range []client.Object{
		&veleroapi.Backup{ObjectMeta: meta, Status: veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFailedValidation}},
		&veleroapi.Restore{ObjectMeta: meta, Spec: veleroapi.RestoreSpec{BackupName: name}, Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailedValidation}},
	} {
		if err := theLab.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("looking whether all follow: %w", err)
		}
	}
	for _, kind := range []string{"Backup", "Restore"} {
		h, err := recorder.AwaitJob(ctx, kind, name, "be seen", func(h lab.History) bool { return len(h) > 0 })
		if err != nil {
			return err
		}
		if _, err := veltuiTells.await(ctx, h, "it is there", func(told) bool { return true }); err != nil {
			return err
		}
	}
	return nil
}

// keepLogs copies the servers' logs and the recording out of a lab that a test
// failed in, to the folder that E2E_LOGS names.
func keepLogs(dir string) {
	target := os.Getenv("E2E_LOGS")
	if target == "" {
		return
	}
	err := os.MkdirAll(target, 0o755)
	logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*.log"))
	for _, file := range append(logs, filepath.Join(dir, "watch.jsonl")) {
		if err != nil {
			break
		}
		var data []byte
		if data, err = os.ReadFile(file); err == nil {
			err = os.WriteFile(filepath.Join(target, filepath.Base(file)), data, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "keeping the logs:", err)
	}
}

// fullBackup returns the history of the backup of everything; the first test
// that asks for it makes it.
func fullBackup(t *testing.T) lab.History {
	t.Helper()
	if h := recorder.JobHistory("Backup", full); len(h) > 0 {
		return h
	}
	return backup(t, full, veleroapi.BackupSpec{}, nil)
}
