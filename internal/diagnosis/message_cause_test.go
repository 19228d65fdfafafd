package diagnosis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/velero"
)

// Refusals of the API server, by who refuses, with messages that only look like one.
func TestRefusalsHaveTheirOwnCauses(t *testing.T) {
	for message, want := range map[string]Reason{
		`admission webhook "v.acme.io" denied the request: Widget "a" is invalid: spec.x: Invalid value: "object": bad`:  WebhookDenies,
		`admission webhook "v.acme.io" denied the request: AccessDenied: ask your administrator`:                         WebhookDenies,
		`deployments.apps "a" is forbidden: ValidatingAdmissionPolicy 'max' with binding 'all' denied request: too many`: PolicyDenies,
		`deployments.apps "a" is forbidden: ValidatingAdmissionPolicy 'max' denied request: failed expression: x`:        PolicyDenies,
		`pods "a" is forbidden: violates PodSecurity "restricted:latest": privileged`:                                    PodSecurityDenies,
		`Widget.acme.io "a" is invalid: spec: Invalid value: "object": minimum must not exceed maximum`:                  RuleBroken,
		`Widget.acme.io "a" is invalid: spec: Invalid value: "string": failed rule: self.min <= self.max`:                RuleBroken,
		`Widget.acme.io "a" is invalid: spec.n: Invalid value: "string": spec.n in body must be of type integer`:         ObjectRefused,
		`Deployment.apps "a" is invalid: [spec.selector: Required value, spec.x: Invalid value: 3: too small]`:           ObjectRefused,
		`Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP`:                    ObjectRefused,
		`PersistentVolumeClaim "a" is invalid: spec: Forbidden: spec is immutable after creation`:                        ObjectRefused,
		`Pod "a" is invalid: spec.priorityClassName: Not found: "high"`:                                                  ObjectRefused,
		`Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.x"`:                  ObjectRefused,

		"the time in the annotation is invalid: it is not RFC 3339":                            {},
		`the label selector "a in b" is invalid: unable to parse requirement`:                  {},
		"its configuration has an unknown field of study":                                      {},
		"error executing item actions for storageclass gold: the pods of it were not found":    {},
		`cannot restore what the plugin calls a resource "x"`:                                  {},
		"failed to take snapshot: rpc error: code = Internal desc = api error AccessDenied: x": SnapshotFailed,
	} {
		if got := ClassifyMessage(message); got != want {
			t.Errorf("%q shows %q, want %q", message, got, want)
		}
	}
}

// Messages whose words several parts of a cluster have in common.
func TestCausesKeepToTheirPart(t *testing.T) {
	const page = "<html> <head><title>413 Request Entity Too Large</title></head> <body>nginx</body> </html>"
	const api = `Post "https://10.96.0.1:443/apis/a/v1/namespaces/shop/x": dial tcp 10.96.0.1:443: connect: connection refused`
	for message, want := range map[string]Reason{
		"Failed to run kopia backup: unable to write content: " + page:                                             StoreRefusesSize,
		"error putting object a: operation error S3: PutObject, https response error StatusCode: 413, RequestID: ": StoreRefusesSize,
		"Request entity too large: limit is 3145728":                                                               ObjectRefused,
		"the server answered with StatusCode: 413":                                                                 {},

		"error taking snapshot of volume: rpc error: code = Unknown desc = api error ExpiredToken: no":         StoreCredentialsExpired,
		"error taking snapshot of volume: rpc error: code = Unknown desc = api error InvalidClientTokenId: no": StoreCredentialsWrong,
		"error taking snapshot of volume: rpc error: code = Unknown desc = operation error EC2: AccessDenied":  SnapshotFailed,

		`podvolumebackups.velero.io "x" not found`:                                       {},
		`backups.velero.io "x" not found`:                                                BackupNotFound,
		`an error: backups.velero.io "x" not found`:                                      BackupNotFound,
		`error executing item action: rpc error: configmaps "coredns" not found`:         {},
		`fail to get ResourcePolicies velero/p ConfigMap: configmaps "p" not found`:      ConfigMapMissing,
		"error restoring statefulsets.apps/minio/minio: " + api:                          ConnectionFailed,
		"error restoring buckets.source.toolkit.fluxcd.io/shop/a: dial tcp: i/o timeout": ConnectionFailed,
		"objectbucketclaims.objectbucket.io/shop/a: connection refused":                  ConnectionFailed,
		"cephobjectstores.ceph.rook.io/rook/a: connection refused":                       ConnectionFailed,
		"cannot check bucket velero: " + api:                                             ConnectionFailed,

		`unable to determine if bucket "velero" exists: dial tcp 10.0.0.9:9000: connection refused`: StoreUnreachable,
		`Get "http://minio.velero.svc:9000/velero/?location=": dial tcp: connection refused`:        StoreUnreachable,
		"rpc error: cannot reach the ObjectStore: i/o timeout":                                      StoreUnreachable,
	} {
		if got := ClassifyMessage(message); got != want {
			t.Errorf("%q shows %q, want %q", message, got, want)
		}
	}
}

// What Velero itself refuses is named as such, with Velero's words, unless the words show more.
func TestCauseOfFailedValidation(t *testing.T) {
	for text, want := range map[string]Reason{
		"Invalid included/excluded resource lists: excludes list cannot contain an item in the includes list: pods":     SpecRefused,
		"encountered labelSelector as well as orLabelSelectors in backup spec, only one can be specified":               SpecRefused,
		`invalid resource policies: fail to get ResourcePolicies velero/p ConfigMap: configmaps "p" not found`:          ConfigMapMissing,
		"backup can't be created because backup storage location a is currently in read-only mode":                      LocationWasReadOnly,
		"an existing backup storage location was not specified at backup creation time and the default a was not found": LocationNotFound,
	} {
		j := spec{name: "a", phase: velero.PhaseFailedValidation, created: 5, invalid: []string{text}}.job(t)
		v := Judge(j, World{Now: minutesAgo(0)})
		if v.Cause.Reason != want || want == SpecRefused && !strings.Contains(v.Text, text[:30]) {
			t.Errorf("%q shows %q, want %q: %s", text, v.Cause.Reason, want, v.Text)
		}
	}
}

// A pattern has text at its ends, and a ~ ends with the word.
func TestPatterns(t *testing.T) {
	for i := range messageCauses {
		for _, pattern := range messageCauses[i].patterns {
			if pattern == "" || strings.ContainsAny(pattern[:1]+pattern[len(pattern)-1:], "*~") {
				t.Errorf("%s: %q does not begin and end with text", messageCauses[i].reason, pattern)
			}
		}
	}
	for _, c := range []struct {
		text, pattern string
		want          bool
	}{
		{`class "a" not found`, `class "~" not found`, true},
		{`class "a b" not found`, `class "~" not found`, false},
		{`class "a b", class "c" not found`, `class "~" not found`, true},
		{`policy 'a' with binding 'b' denied`, `policy '~' with binding '~' denied`, true},
		{`policy 'a' with binding 'b c' denied`, `policy '~' with binding '~' denied`, false},
		{`a ~ b`, `a*b`, true},
		{`x"y is invalid: z required value`, `x"~ is invalid: * required value`, true},
	} {
		if got := containsPattern(c.text, c.pattern); got != c.want {
			t.Errorf("%q in %q: %t", c.pattern, c.text, got)
		}
	}
}

// What messages show is remembered, but not without bound.
func TestRememberedReasonsAreBounded(t *testing.T) {
	var c reasonCache
	calls := 0
	find := func() Reason { calls++; return StoreDenies }
	for range 3 {
		c.reasonOf("a", find)
	}
	if calls != 1 {
		t.Errorf("a message was classified %d times", calls)
	}
	for i := range 3 * maxClassified {
		if c.reasonOf(fmt.Sprint(i), find) != StoreDenies || len(c.reasons) > maxClassified {
			t.Fatalf("%d reasons are remembered", len(c.reasons))
		}
	}
}
