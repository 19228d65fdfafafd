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

// attemptsOf returns the attempts that a mark names, the newest first. A later
// attempt of somebody else must not hide ours.
func attemptsOf(o *unstructured.Unstructured, mark string) []string {
	return strings.Fields(o.GetAnnotations()[mark])
}

// addAttempt returns the value of a mark after one more attempt.
func addAttempt(o *unstructured.Unstructured, mark, attempt string) string {
	all := append([]string{attempt}, attemptsOf(o, mark)...)
	return strings.Join(all[:min(len(all), keptAttempts)], " ")
}

// findAttempt tells whether an attempt is named by a mark, which had other
// attempts in it before. Programs that name only their own attempt may have
// written over ours.
func findAttempt(attempt string, before, now []string) finding {
	if slices.Contains(now, attempt) {
		return landed
	}
	if slices.Equal(before, now) {
		return lost
	}
	since := len(now) - len(before)
	if since > 0 && len(before) > 0 && slices.Equal(now[since:], before) {
		return lost // whoever came since has kept what was there
	}
	return obscured
}
