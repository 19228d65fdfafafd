package action

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// judgeObjectFate looks for an attempt that patched the given version, whose mark listed the attempts before.
func judgeObjectFate(now *unstructured.Unstructured, version, mark, attempt string, before []string) writeFate {
	attempts, complete := markedAttempts(now, mark)
	found := judgeMarkFate(attempt, before, attempts, complete)
	if found != fateLanded && now.GetResourceVersion() == version {
		return fatePending
	}
	return found
}

type writeFate int

// maxMarkAttempts is the number of attempts that a mark lists.
const maxMarkAttempts = 8

// completeListMark ends a mark that lists every attempt. Programs that write only their own attempt do not write it.
const completeListMark = "."

// markedAttempts returns a mark's attempts, newest first, and whether no earlier attempt is missing.
func markedAttempts(o *unstructured.Unstructured, mark string) (attempts []string, complete bool) {
	return parseAttempts(o.GetAnnotations()[mark])
}

func parseAttempts(text string) (attempts []string, complete bool) {
	attempts = strings.Fields(text)
	if n := len(attempts); n > 0 && attempts[n-1] == completeListMark {
		return attempts[:n-1], true
	}
	return attempts, false
}

// addAttempt returns a mark with one more attempt. A list that may have lost an attempt stays marked as incomplete.
func addAttempt(o *unstructured.Unstructured, mark, attempt string) string {
	before, complete := markedAttempts(o, mark)
	all := append([]string{attempt}, before...)
	all = all[:min(len(all), maxMarkAttempts)]
	if complete || len(before) == 0 {
		all = append(all, completeListMark)
	}
	return strings.Join(all, " ")
}

// judgeMarkFate looks for an attempt in a mark that listed the attempts before; a program may have replaced ours.
func judgeMarkFate(attempt string, before, now []string, complete bool) writeFate {
	since := len(now) - len(before)
	switch {
	case slices.Contains(now, attempt):
		return fateLanded
	case slices.Equal(before, now):
		return fateLost
	case since > 0 && slices.Equal(now[since:], before) && (len(before) > 0 || complete && len(now) < maxMarkAttempts):
		return fateLost // the writers since then have kept what was there
	}
	return fateObscured
}

const (
	fatePending writeFate = iota // not carried out, but may still be
	fateLanded                   // the object has our mark
	// fateLost means not carried out, and no longer possible: the object has moved past the precondition without our
	// mark.
	fateLost
	// fateObscured means no longer possible, but may have been carried out: the object is gone or replaced, or another
	// mark replaced ours.
	fateObscured
	// fateNameTaken means that another object has the name, so the request was not carried out, and can be only once that
	// object is gone.
	fateNameTaken
)
