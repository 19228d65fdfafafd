package dryrun

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// verdict is what became of an item.
type verdict uint8

const (
	undecided verdict = iota // nothing yet
	accepted                 // the API server would create or patch it
	rejected
	warned     // Velero only warns: its patch is rejected, or the object may be too large
	cannotTell // the dry run cannot tell
	notSent    // Velero would not send it either
	stored     // the dry run was carried out
)

// classifyContext is what a classification depends on besides the answer.
type classifyContext struct {
	asVelero        bool
	user            string
	inStandIn       bool // sent into a namespace other than the one that it is restored into
	patchesExisting bool // Velero patches what exists
	// restoresLimitRanges is true for a pod whose namespace gets limit ranges before it.
	restoresLimitRanges bool
	// restoresObject reports whether the restore creates an object that does not exist yet.
	restoresObject func(resource, name string) bool
	// restoresKind is true where the restore brings or changes the CRD of the item's kind.
	restoresKind bool
}

// answer is a classified answer. retry, if not nil, removes from the object what it depends on, for another try.
type answer struct {
	verdict verdict
	reason  string
	retry   func(*unstructured.Unstructured)
}

// The answers of kube-apiserver, as 1.25 to 1.36 word them.
var (
	// An admission plugin names the object before "is forbidden: "; the authorizer goes on with the user
	// (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go, forbiddenMessage).
	forbiddenByAuthorizer = regexp.MustCompile(`^[^ ]+(?: "[^"]*")? is forbidden: User "`)
	// k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go, ConfirmNoEscalation
	forbiddenEscalation = regexp.MustCompile(
		`is forbidden: user "[^"]*" \(groups=.*is attempting to grant RBAC permissions not currently held`,
	)
	// k8s.io/kubernetes/plugin/pkg/admission/serviceaccount/admission.go, Validate
	missingAccount = regexp.MustCompile(`is forbidden: error looking up service account [^/ ]+/([^: ]+):`)
	// k8s.io/kubernetes/plugin/pkg/admission/priority/admission.go, admitPod
	missingPriorityClass = regexp.MustCompile(`is forbidden: no PriorityClass with name (\S+) was found`)
	// k8s.io/kubernetes/plugin/pkg/admission/runtimeclass/admission.go, prepareObjects
	missingRuntimeClass = regexp.MustCompile(`is forbidden: pod rejected: RuntimeClass "([^"]+)" not found`)
	// noSecurityConstraint is OpenShift's answer where no constraint of the user or of the pod's account fits
	// (github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/sccadmission/admission.go).
	noSecurityConstraint = "unable to validate against any security context constraint"
	// The limits of a namespace: quotas (k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go), limit
	// ranges (k8s.io/kubernetes/plugin/pkg/admission/limitranger), Pod Security
	// (k8s.io/pod-security-admission/admission).
	namespaceLimitExceeded = regexp.MustCompile(
		`is forbidden: (?:exceeded quota: |failed quota: |insufficient quota |status unknown for quota: |` +
			`violates PodSecurity |.* per (?:Container|Pod|PersistentVolumeClaim) is )`,
	)
)

const (
	roles               = "roles.rbac.authorization.k8s.io"
	clusterRoles        = "clusterroles.rbac.authorization.k8s.io"
	roleBindings        = "rolebindings.rbac.authorization.k8s.io"
	clusterRoleBindings = "clusterrolebindings.rbac.authorization.k8s.io"
	serviceAccounts     = "serviceaccounts"
	priorityClasses     = "priorityclasses.scheduling.k8s.io"
	runtimeClasses      = "runtimeclasses.node.k8s.io"
)

// classifyAnswer classifies the answer to an object that was sent to be created or patched.
func classifyAnswer(err error, resource string, in classifyContext) answer {
	if err == nil {
		return answer{verdict: accepted}
	}
	text := err.Error()
	untold := func(format string, args ...any) answer {
		return answer{verdict: cannotTell, reason: fmt.Sprintf(format, args...)}
	}
	asked := func() answer {
		if in.asVelero {
			return answer{verdict: rejected, reason: text}
		}
		return untold("that depends on who asks, and Velero may be allowed what %s is not", in.user)
	}
	switch {
	// The API server passes on the code and the reason that a webhook chooses.
	case deniedByWebhook.MatchString(text), deniedByPolicy.MatchString(text):
		if in.inStandIn {
			return untold("it is denied in the namespace that stands in: %s", text)
		}
		return answer{verdict: rejected, reason: text}
	// The API server checks this last (k8s.io/apiserver/pkg/registry/generic/registry/dryrun.go, Create).
	case apierrors.IsAlreadyExists(err) && in.inStandIn:
		return answer{verdict: accepted}
	case apierrors.IsAlreadyExists(err) && in.patchesExisting:
		return untold("it exists by now, and Velero patches it")
	case apierrors.IsAlreadyExists(err):
		return answer{verdict: notSent, reason: "it exists by now"}
	case apierrors.IsTooManyRequests(err),
		apierrors.IsServiceUnavailable(err),
		apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err),
		strings.HasPrefix(text, "etcdserver: "):
		return untold("the API server is busy: %s", text)
	// k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go, NewDryRunUnsupportedErr
	case apierrors.IsBadRequest(err) && strings.Contains(text, "does not support dry run"):
		return untold("%s: it is asked only when the restore runs", text)
	case apierrors.IsForbidden(err) &&
		(forbiddenByAuthorizer.MatchString(text) || forbiddenEscalation.MatchString(text) ||
			strings.Contains(text, noSecurityConstraint)):
		return asked()
	case apierrors.IsNotFound(err):
		return classifyMissing(err, text, resource, in, asked)
	case in.inStandIn && apierrors.IsForbidden(err) && namespaceLimitExceeded.MatchString(text):
		return untold("what the namespace itself limits is not that of the one that stands in for it")
	case in.restoresLimitRanges && apierrors.IsForbidden(err) && namespaceLimitExceeded.MatchString(text):
		return untold("the restore brings limit ranges first; without them: %s", text)
	case apierrors.IsForbidden(err) && resource == "pods":
		if a, known := withoutDependency(text, in); known {
			return a
		}
	case in.restoresKind && apierrors.IsInvalid(err):
		return untold("the restore changes the CRD first")
	}
	return answer{verdict: rejected, reason: text}
}

// classifyMissing classifies the answer that something was not found: the namespace, a binding's role, or the kind
// itself.
func classifyMissing(err error, text, resource string, in classifyContext, asked func() answer) answer {
	var kind, name string
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil {
		kind, name = status.Status().Details.Kind, status.Status().Details.Name
	}
	unserved := strings.HasPrefix(text, errUnserved.Error())
	switch {
	case unserved && in.restoresKind:
		return answer{verdict: cannotTell, reason: "this restore brings its CRD"}
	case unserved:
		return answer{verdict: rejected, reason: errUnserved.Error()}
	case kind == "namespaces" && resource != "namespaces":
		return answer{verdict: cannotTell, reason: "namespace " + name + " does not exist yet"}
	// The role of a binding (k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased/storage.go): the API server
	// does not look it up if the user may bind any role.
	case resource == roleBindings, resource == clusterRoleBindings:
		if in.restoresObject(roles, name) || in.restoresObject(clusterRoles, name) {
			return answer{verdict: cannotTell, reason: "it binds role " + name + ", which this restore brings"}
		}
		return asked()
	}
	return answer{verdict: rejected, reason: text}
}

// withoutDependency returns an answer that tries again without what the restore creates before the pod.
func withoutDependency(text string, in classifyContext) (a answer, known bool) {
	remove := func(fields ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			for _, field := range fields {
				unstructured.RemoveNestedField(o.Object, "spec", field)
			}
		}
	}
	byDefault := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "default", "spec", "serviceAccountName")
	}
	for _, d := range []struct {
		pattern        *regexp.Regexp
		resource, what string
		without        func(*unstructured.Unstructured)
	}{
		{missingAccount, serviceAccounts, "service account", byDefault},
		{missingPriorityClass, priorityClasses, "PriorityClass", remove("priorityClassName", "preemptionPolicy")},
		{missingRuntimeClass, runtimeClasses, "RuntimeClass", remove("runtimeClassName", "overhead")},
	} {
		m := d.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		of := d.what + " " + m[1]
		switch {
		case in.restoresObject(d.resource, m[1]) && m[1] != "default":
			return answer{
				verdict: cannotTell,
				reason:  "it needs " + of + ", which this restore brings",
				retry:   d.without,
			}, true
		// which Kubernetes creates in each namespace
		case d.resource == serviceAccounts && (m[1] == "default" || in.inStandIn):
			return answer{verdict: cannotTell, reason: "it needs " + of + ", which is not there yet"}, true
		}
	}
	return answer{}, false
}

// lacksAnswer reports whether an error is not the API server's answer about an object: nobody answered, or the
// credentials are rejected.
func lacksAnswer(err error) bool {
	if _, status := err.(apierrors.APIStatus); !status && err != nil {
		return true
	}
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnauthorized && !deniedByWebhook.MatchString(err.Error())
}
