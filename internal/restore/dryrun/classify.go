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
	open     verdict = iota // nothing yet
	accepted                // the API server would create or patch it
	rejected
	warned     // Velero only warns: its patch is rejected, or the object may be too large
	cannotTell // the dry run cannot tell
	notSent    // Velero would not send it either
	stored     // the dry run was carried out
)

// situation is what a classification depends on besides the answer.
type situation struct {
	asVelero bool
	who      string
	standIn  bool // sent into another namespace than it is restored into
	updates  bool // Velero patches what exists
	// bringsLimits is true for a pod whose namespace gets limit ranges before it.
	bringsLimits bool
	// brings reports whether the restore creates an object that does not exist yet.
	brings func(resource, name string) bool
	// bringsKind is true where it brings the CRD of the item's kind, or changes it.
	bringsKind bool
}

// answer is a classified answer. retry, if not nil, changes the object for another try without what it depends on.
type answer struct {
	verdict verdict
	why     string
	retry   func(*unstructured.Unstructured)
}

// The answers of kube-apiserver, as 1.25 to 1.36 word them.
var (
	// An admission plugin names the object before "is forbidden: "; the authorizer goes on with the user
	// (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go, forbiddenMessage).
	unauthorized = regexp.MustCompile(`^[^ ]+(?: "[^"]*")? is forbidden: User "`)
	// k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go, ConfirmNoEscalation
	escalation = regexp.MustCompile(
		`is forbidden: user "[^"]*" \(groups=.*is attempting to grant RBAC permissions not currently held`,
	)
	// k8s.io/kubernetes/plugin/pkg/admission/serviceaccount/admission.go, Validate
	account = regexp.MustCompile(`is forbidden: error looking up service account [^/ ]+/([^: ]+):`)
	// k8s.io/kubernetes/plugin/pkg/admission/priority/admission.go, admitPod
	priorityClass = regexp.MustCompile(`is forbidden: no PriorityClass with name (\S+) was found`)
	// k8s.io/kubernetes/plugin/pkg/admission/runtimeclass/admission.go, prepareObjects
	runtimeClass = regexp.MustCompile(`is forbidden: pod rejected: RuntimeClass "([^"]+)" not found`)
	// constraint is OpenShift's answer where none of those of the user and of the pod's account fits
	// (github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/sccadmission/admission.go).
	constraint = "unable to validate against any security context constraint"
	// What belongs to a namespace: quotas (k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go), limit
	// ranges (k8s.io/kubernetes/plugin/pkg/admission/limitranger), Pod Security (k8s.io/pod-security-admission/admission).
	ofNamespace = regexp.MustCompile(
		`is forbidden: (?:exceeded quota: |failed quota: |insufficient quota |status unknown for quota: |` +
			`violates PodSecurity |.* per (?:Container|Pod|PersistentVolumeClaim) is )`,
	)
)

const (
	roles           = "roles.rbac.authorization.k8s.io"
	clusterRoles    = "clusterroles.rbac.authorization.k8s.io"
	bindings        = "rolebindings.rbac.authorization.k8s.io"
	clusterBindings = "clusterrolebindings.rbac.authorization.k8s.io"
	accounts        = "serviceaccounts"
	priorities      = "priorityclasses.scheduling.k8s.io"
	runtimes        = "runtimeclasses.node.k8s.io"
)

// classify says what follows from the answer to an object that was sent to be created or patched.
func classify(err error, resource string, in situation) answer {
	if err == nil {
		return answer{verdict: accepted}
	}
	text := err.Error()
	untold := func(format string, args ...any) answer {
		return answer{verdict: cannotTell, why: fmt.Sprintf(format, args...)}
	}
	asked := func() answer {
		if in.asVelero {
			return answer{verdict: rejected, why: text}
		}
		return untold("that depends on who asks, and Velero may be allowed what %s is not", in.who)
	}
	switch {
	// The API server passes on the code and the reason that a webhook chooses.
	case deniedByWebhook.MatchString(text), deniedByPolicy.MatchString(text):
		if in.standIn {
			return untold("it is denied in the namespace that stands in: %s", text)
		}
		return answer{verdict: rejected, why: text}
	// It is the last thing that the API server asks (k8s.io/apiserver/pkg/registry/generic/registry/dryrun.go, Create).
	case apierrors.IsAlreadyExists(err) && in.standIn:
		return answer{verdict: accepted}
	case apierrors.IsAlreadyExists(err) && in.updates:
		return untold("it exists by now, and Velero patches it")
	case apierrors.IsAlreadyExists(err):
		return answer{verdict: notSent, why: "it exists by now"}
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
		(unauthorized.MatchString(text) || escalation.MatchString(text) || strings.Contains(text, constraint)):
		return asked()
	case apierrors.IsNotFound(err):
		return classifyMissing(err, text, resource, in, asked)
	case in.standIn && apierrors.IsForbidden(err) && ofNamespace.MatchString(text):
		return untold("what the namespace itself limits is not that of the one that stands in for it")
	case in.bringsLimits && apierrors.IsForbidden(err) && ofNamespace.MatchString(text):
		return untold("the restore brings limit ranges first; without them: %s", text)
	case apierrors.IsForbidden(err) && resource == "pods":
		if a, known := withoutDependency(text, in); known {
			return a
		}
	case in.bringsKind && apierrors.IsInvalid(err):
		return untold("the restore changes the CRD first")
	}
	return answer{verdict: rejected, why: text}
}

// classifyMissing is for what is not found: the namespace, a binding's role, or the kind itself.
func classifyMissing(err error, text, resource string, in situation, asked func() answer) answer {
	var kind, name string
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil {
		kind, name = status.Status().Details.Kind, status.Status().Details.Name
	}
	unserved := strings.HasPrefix(text, errUnserved.Error())
	switch {
	case unserved && in.bringsKind:
		return answer{verdict: cannotTell, why: "this restore brings its CRD"}
	case unserved:
		return answer{verdict: rejected, why: errUnserved.Error()}
	case kind == "namespaces" && resource != "namespaces":
		return answer{verdict: cannotTell, why: "namespace " + name + " does not exist yet"}
	// The role of a binding (k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased/storage.go): it is not looked
	// for if the user may bind any.
	case resource == bindings, resource == clusterBindings:
		if in.brings(roles, name) || in.brings(clusterRoles, name) {
			return answer{verdict: cannotTell, why: "it binds role " + name + ", which this restore brings"}
		}
		return asked()
	}
	return answer{verdict: rejected, why: text}
}

// withoutDependency tries again without what the restore creates before the pod.
func withoutDependency(text string, in situation) (a answer, known bool) {
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
		{account, accounts, "service account", byDefault},
		{priorityClass, priorities, "PriorityClass", remove("priorityClassName", "preemptionPolicy")},
		{runtimeClass, runtimes, "RuntimeClass", remove("runtimeClassName", "overhead")},
	} {
		m := d.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		of := d.what + " " + m[1]
		switch {
		case in.brings(d.resource, m[1]) && m[1] != "default":
			return answer{
				verdict: cannotTell,
				why:     "it needs " + of + ", which this restore brings",
				retry:   d.without,
			}, true
		case d.resource == accounts && (m[1] == "default" || in.standIn): // which Kubernetes makes in each namespace
			return answer{verdict: cannotTell, why: "it needs " + of + ", which is not there yet"}, true
		}
	}
	return answer{}, false
}

// isNoAnswer reports whether an error is not the API server's answer about an object: nobody answered, or the
// credentials are rejected.
func isNoAnswer(err error) bool {
	if _, status := err.(apierrors.APIStatus); !status && err != nil {
		return true
	}
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnauthorized && !deniedByWebhook.MatchString(err.Error())
}
