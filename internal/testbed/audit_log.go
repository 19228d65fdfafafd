package testbed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// RecordedGroup is the group whose requests the API server's audit log holds.
const RecordedGroup = "testbed:recorded"

const (
	auditPolicyFile = "audit-policy.yaml"
	auditLogFile    = "audit.jsonl"
)

// auditPolicy records what the group asks, once a request: a watch when it
// begins, anything else when it is over. Of a question for a right the answer
// is kept too.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: RequestResponse
    userGroups: ["` + RecordedGroup + `"]
    resources: [{group: authorization.k8s.io, resources: [selfsubjectaccessreviews]}]
  - level: Metadata
    userGroups: ["` + RecordedGroup + `"]
  - level: None
`

// RecordedRequest is one request as the API server's authorizer saw it.
type RecordedRequest struct {
	User, Verb string
	// Group, Resource (with its subresource after a slash), Namespace and Name
	// are empty for what is no resource, which has a Path.
	Group, Resource, Namespace, Name string
	Path                             string
	// Allowed is the answer, and By says which binding gave the right.
	Allowed   bool
	GrantedBy string
	// Review is the right that a SelfSubjectAccessReview asks for; Granted is
	// the answer to that.
	Review  *authorizationv1.ResourceAttributes
	Granted bool
}

// auditEvent is the part of an audit.k8s.io Event that is looked at.
type auditEvent struct {
	Stage, Verb, RequestURI string
	User                    struct{ Username string }
	ObjectRef               struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseObject          json.RawMessage
	Annotations             map[string]string
}

// RecordedRequests returns what members of the group [RecordedGroup] have asked so far, in the
// order in which it was answered.
func (c *ControlPlane) RecordedRequests() ([]RecordedRequest, error) {
	data, err := os.ReadFile(filepath.Join(c.dir, auditLogFile))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	var all []RecordedRequest
	for line := range bytes.Lines(data) {
		var e auditEvent
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if e.Verb == "watch" != (e.Stage == "ResponseStarted") &&
			e.Annotations["authorization.k8s.io/decision"] == "allow" {
			continue // a watch has two lines, or more
		}
		o := e.ObjectRef
		a := RecordedRequest{
			User:      e.User.Username,
			Verb:      e.Verb,
			Group:     o.APIGroup,
			Resource:  o.Resource,
			Namespace: o.Namespace,
			Name:      o.Name,
			Path:      e.RequestURI,
			Allowed:   e.Annotations["authorization.k8s.io/decision"] == "allow",
			GrantedBy: e.Annotations["authorization.k8s.io/reason"],
		}
		if o.Subresource != "" {
			a.Resource += "/" + o.Subresource
		}
		if o.Resource == "selfsubjectaccessreviews" && len(e.ResponseObject) > 0 {
			var review authorizationv1.SelfSubjectAccessReview
			if err := json.Unmarshal(
				e.ResponseObject,
				&review,
			); err != nil &&
				!bytes.Contains(e.ResponseObject, []byte(`"kind":"Status"`)) {
				return nil, fmt.Errorf("reading the audit log: %w", err)
			} // a Status is the answer to a review that its client gave up
			a.Review, a.Granted = review.Spec.ResourceAttributes, review.Status.Allowed
		}
		all = append(all, a)
	}
	return all, nil
}

// enableAuditLog makes the API server write down what the group [RecordedGroup] asks.
func (c *ControlPlane) enableAuditLog() error {
	policy := filepath.Join(c.dir, auditPolicyFile)
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	c.env.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).Set("audit-log-path", filepath.Join(c.dir, auditLogFile))
	return nil
}
