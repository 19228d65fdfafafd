package action

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A dry run that is carried out, and whose answer denies that, is found by reading the object: nothing more is sent, and
// the outcome names the command that undoes it.
func TestFalseAnswerToDryRun(t *testing.T) {
	for name, a := range strippable(t) {
		for _, answer := range sortedKeys(falseAnswers) {
			for _, dryRun := range []bool{true, false} {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					b := newSendBench(a)
					engine, p := b.planned(t, dir)
					b.api.strip = func(string) bool { return true }
					b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
						if step == "dry run" {
							return falseAnswers[answer](b.api, r, serve)
						}
						connected(r)
						return serve(), nil
					}
					out, err := engine.ApplyPlan(t.Context(), p, dryRun, nil)
					if err != nil || out.State != StateCarriedOut || out.Sent == NotSent ||
						strings.Contains(out.Message, "nothing was written") {
						t.Errorf("%s, %s: %s, %s: %s, %v", name, answer, out.State, out.Sent, out.Message, err)
					}
					if slices.ContainsFunc(b.api.log, isSend) {
						t.Errorf("%s, %s: it sent more: %q", name, answer, b.api.log)
					}
				})
			}
		}
	}
}
