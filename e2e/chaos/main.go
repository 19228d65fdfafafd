package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero"
)

func main() {
	crlog.SetLogger(logr.Discard()) // the API server's warnings are of no interest
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// runCommand runs a story and judges it, or judges a recording.
func runCommand(args []string) error {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "the seed of the story")
	duration := flags.Duration("duration", 15*time.Minute, "how long the story is")
	out := flags.String("out", "", "the folder for the recording, the table and the scenarios")
	recording := flags.String("recording", "", "judge this recording and run nothing")
	older := flags.String("older", "", "the folder of another Velero's programs, to roll back to")
	plan := flags.Bool("plan", false, "print the story and run nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *recording != "" {
		return judgeFile(*recording, *out)
	}
	can := detectAbilities(*older)
	story := PlanStory(*seed, *duration, can)
	if *plan {
		for _, s := range story.Steps {
			fmt.Printf("%6s %-24s %s\n", s.At, s.Name, s.Length)
		}
		return nil
	}
	if *out == "" {
		*out = filepath.Join(os.TempDir(), "chaos")
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return fmt.Errorf("making the folder of the recording: %w", err)
	}
	path := filepath.Join(*out, fmt.Sprintf("seed-%d-%s-%s.jsonl.gz", *seed, can.Version, *duration))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	writer, err := CreateRecording(path)
	if err != nil {
		return err
	}
	progress := func(text string) { fmt.Fprintln(os.Stderr, time.Now().UTC().Format(time.TimeOnly), text) }
	if err := errors.Join(Run(ctx, story, *older, writer, progress), writer.Close()); err != nil {
		return err
	}
	return judgeFile(path, *out)
}

// judgeFile judges a recording, prints the table, and writes the wrong moments
// beside the recording. Then each resource is hidden in turn: who may not read it misses
// what it shows, but raises no false alarm.
func judgeFile(path, out string) error {
	entries, err := ReadRecording(path)
	if err != nil {
		return err
	}
	result, err := judgeHidden(entries, "", time.Second)
	if err != nil {
		return err
	}
	fmt.Println(path)
	result.Write(os.Stdout)
	if out == "" {
		out = filepath.Dir(path)
	}
	scenarios := filepath.Join(out, strings.TrimSuffix(filepath.Base(path), ".jsonl.gz")+"-scenarios")
	if err := os.RemoveAll(scenarios); err != nil {
		return fmt.Errorf("removing the scenarios of an earlier judgement: %w", err)
	}
	errs := []error{WriteScenarios(scenarios, entries, result), result.Err()}
	fmt.Printf("\nWith a resource hidden, judged every %s, false alarms:\n", hiddenStep)
	for _, resource := range hideableResources {
		result, err := judgeHidden(entries, resource, hiddenStep)
		if err != nil {
			return err
		}
		alarms := result.falseAlarms()
		fmt.Printf("- %s: %d of %d\n", resource, alarms.totalSeconds(), result.Seconds)
		alarms.writeTo(os.Stdout)
		if len(alarms) > 0 {
			errs = append(errs, fmt.Errorf("%d false alarms without %s", len(alarms), resource))
			errs = append(
				errs,
				WriteScenarios(
					scenarios+"-without-"+strings.ReplaceAll(resource, "/", "-"),
					entries,
					Result{Story: result.Story, WrongPeriods: alarms},
				),
			)
		}
	}
	return errors.Join(errs...)
}

// hiddenStep is how often is judged with a resource hidden, which is done once for each.
const hiddenStep = 10 * time.Second

// judgeHidden judges a recording as somebody sees it who may not read a resource; an
// empty resource hides nothing.
func judgeHidden(entries []Entry, resource string, step time.Duration) (Result, error) {
	product, err := NewVeltuiJudge(resource)
	if err != nil {
		return Result{}, err
	}
	defer product.Close()
	return JudgeRecording(entries, product, step)
}

// detectAbilities are those of the Velero whose programs the lab uses.
func detectAbilities(older string) Abilities {
	version := versionOf(os.Getenv(lab.ProgramsVar))
	return Abilities{
		Version:     version,
		Queues:      queuesBackups(version),
		RollsBack:   older != "",
		OlderQueues: older != "" && queuesBackups(versionOf(older)),
	}
}

// versionOf reads a version from a folder's name, such as bin/lab-v1.18.3-f0c8.
func versionOf(folder string) string {
	_, rest, _ := strings.Cut(filepath.Base(folder), "lab-")
	version, _, _ := strings.Cut(rest, "-")
	return version
}

func queuesBackups(version string) bool {
	v, known := velero.ParseVersion(version)
	return known && v.QueuesBackups()
}
