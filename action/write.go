package action

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// write is one change of one object: what is sent, what it depends on, and how to
// find out what became of it. Each kind of write says what a lost answer means;
// there is no default.
type write interface {
	// object is what is written: as it was seen, or for a create as it will be.
	object() *unstructured.Unstructured
	// body is what the audit log records of the request.
	body() []byte
	// send sends it once. The API server carries it out only if the precondition
	// holds: the object is unchanged, or for a create does not exist.
	send(ctx context.Context, c client.Client, dryRun bool) (*unstructured.Unstructured, error)
	// verify compares the answer with the request. It returns what is wrong, to
	// follow "the API server would accept it but"; empty if the answer is the
	// object with all that was requested. An answer to a dry run has the version
	// of the object before.
	verify(answer *unstructured.Unstructured, dryRun bool) string
	// find tells what became of sends without an answer by the object as it is
	// now, nil if it does not exist.
	find(now *unstructured.Unstructured) finding
}

// finding is what an object shows of a write that may have reached it.
type finding int

const (
	// pending: it has not been carried out, and still may be.
	pending finding = iota
	// landed: the object has our mark.
	landed
	// lost: it was not carried out and cannot be any more, because the object has
	// moved past the precondition without our mark.
	lost
	// obscured: it cannot be carried out any more, and whether it was is not to be
	// seen: the object is gone, or was replaced, or somebody else's mark may
	// have taken the place of ours.
	obscured
)

// keptAttempts is how many attempts a mark names.
const keptAttempts = 8

// completeList ends a mark that names every attempt before its newest, too. Programs
// that name only their own do not write it.
const completeList = "."

// attemptsOf returns the attempts that a mark names, the newest first, and whether
// whoever wrote it kept those before.
func attemptsOf(o *unstructured.Unstructured, mark string) (attempts []string, complete bool) {
	return readAttempts(o.GetAnnotations()[mark])
}

func readAttempts(text string) (attempts []string, complete bool) {
	attempts = strings.Fields(text)
	if n := len(attempts); n > 0 && attempts[n-1] == completeList {
		return attempts[:n-1], true
	}
	return attempts, false
}

// addAttempt returns the value of a mark after one more attempt. A later attempt of
// somebody else does not hide one that came before, and a list that may have lost one
// stays a list that may have.
func addAttempt(o *unstructured.Unstructured, mark, attempt string) string {
	before, complete := attemptsOf(o, mark)
	all := append([]string{attempt}, before...)
	all = all[:min(len(all), keptAttempts)]
	if complete || len(before) == 0 {
		all = append(all, completeList)
	}
	return strings.Join(all, " ")
}

// findAttempt tells whether an attempt is named by a mark that named others before
// it was made. A program that names only its own attempt may have written over ours.
func findAttempt(attempt string, before, now []string, complete bool) finding {
	since := len(now) - len(before)
	switch {
	case slices.Contains(now, attempt):
		return landed
	case slices.Equal(before, now):
		return lost
	case since > 0 && slices.Equal(now[since:], before) && (len(before) > 0 || complete && len(now) < keptAttempts):
		return lost // whoever came since has kept what was there
	}
	return obscured
}
