package dryrun

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go, ToStatusErr
	deniedByWebhook = regexp.MustCompile(`^admission webhook "([^"]+)" denied the request`)
	// k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, Dispatch
	deniedByPolicy = regexp.MustCompile(`: ValidatingAdmissionPolicy '([^']+)' with binding '[^']*' denied request: `)
)

// allowForUser withdraws a rejection that may not apply to Velero's service account.
func (s *Sender) allowForUser(ctx context.Context, a answer) answer {
	if s.AsVelero || a.verdict != rejected {
		return a
	}
	if m := deniedByWebhook.FindStringSubmatch(a.reason); m != nil {
		return answer{
			verdict: cannotTell,
			reason:  fmt.Sprintf("webhook %s denies it to %s, and may not to Velero: %s", m[1], s.User, a.reason),
		}
	}
	if m := deniedByPolicy.FindStringSubmatch(a.reason); m != nil && s.matchesUsers(ctx, m[1]) {
		return answer{
			verdict: cannotTell,
			reason:  fmt.Sprintf("policy %s denies it to %s, and may look at who asks: %s", m[1], s.User, a.reason),
		}
	}
	return a
}

var admissionPolicies = schema.GroupVersionResource{
	Group:    "admissionregistration.k8s.io",
	Version:  "v1",
	Resource: "validatingadmissionpolicies",
}

// matchesUsers reports whether a policy may decide by the user; true also if the policy cannot be read.
func (s *Sender) matchesUsers(ctx context.Context, policy string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	matches, known := s.byUser[policy]
	if known {
		return matches
	}
	o, err := s.getObject(ctx, admissionPolicies, "", policy)
	if err == nil {
		var text []byte
		text, err = json.Marshal(o.Object["spec"])
		matches = strings.Contains(string(text), "userInfo") || strings.Contains(string(text), "authorizer")
	}
	s.byUser[policy] = matches || err != nil
	return s.byUser[policy]
}
