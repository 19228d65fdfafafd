package cmd

import (
	"slices"
	"strings"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// condition is one value of --for.
type condition struct{ word, value string }

func (c condition) String() string {
	if c.value == "" {
		return c.word
	}
	return c.word + "=" + c.value
}

// waitedPhases are those of Velero's phases that one can wait for.
var waitedPhases = []string{
	velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart, velero.PhaseFailedValidation, velero.PhaseInProgress,
	velero.PhaseWaiting, velero.PhaseWaitingPartly,
	velero.PhaseFinalizing, velero.PhaseFinalizingPartly,
	velero.PhaseCompleted, velero.PhasePartiallyFailed, velero.PhaseFailed, velero.PhaseDeleting,
}

var waitedStages = []string{string(job.StageQueued), string(job.StageItems), string(job.StageVolumes), string(job.StageOperations), string(job.StageFinalizing), string(job.StageDone), string(job.StageDeleting)}

// conditionWords are the values that --for takes; those that end in = want another
// word.
func conditionWords() []string {
	words := []string{"completed", "ended", "stuck", "create", "delete"}
	for _, phase := range waitedPhases {
		words = append(words, "phase="+phase)
	}
	for _, stage := range waitedStages {
		words = append(words, "stage="+stage)
	}
	return words
}

// parseConditions reads the values of --for. Some of kubectl's own spellings mean the
// same.
func parseConditions(texts []string) ([]condition, error) {
	var all []condition
	for _, text := range texts {
		text = strings.TrimPrefix(strings.Replace(text, "jsonpath={.status.phase}=", "phase=", 1), "condition=")
		word, value, _ := strings.Cut(text, "=")
		word = strings.ToLower(word)
		if word == "complete" {
			word = "completed"
		}
		c := condition{word, value}
		known := slices.ContainsFunc(conditionWords(), func(w string) bool { return strings.EqualFold(w, c.String()) })
		if !known {
			return nil, usagef("--for %s: must be completed, ended, stuck, create, delete, phase=PHASE or stage=STAGE%s", text, config.Suggestion(text, conditionWords()))
		}
		all = append(all, c)
	}
	is := func(word string) bool {
		return slices.ContainsFunc(all, func(c condition) bool { return c.word == word })
	}
	switch {
	case is("create") && len(all) > 1:
		return nil, usagef("--for create with others ends as soon as the job exists: leave it out and give --wait-for-creation")
	case len(all) == 0:
		return nil, usagef("--for needs a value, such as completed")
	}
	return all, nil
}

// met is the exit code of a condition that holds for a job, ok if it does. Whether
// the job exists has been looked at.
func (c condition) met(j assess.Judged) (code int, ok bool) {
	switch c.word {
	case "create":
		return ExitOK, true
	case "completed":
		return endCode(j), j.Terminal()
	case "ended":
		return ExitOK, j.Terminal()
	case "phase":
		return ExitOK, strings.EqualFold(j.Phase, c.value)
	case "stage":
		return ExitOK, strings.EqualFold(string(j.Stage), c.value)
	case "stuck":
		return ExitRefused, j.Troubled()
	}
	return 0, false
}

// endCode is the exit code of how a job ended.
func endCode(j assess.Judged) int {
	switch j.Phase {
	case velero.PhaseCompleted:
		return ExitOK
	case velero.PhasePartiallyFailed:
		return ExitPartiallyFailed
	}
	return ExitFailed
}
