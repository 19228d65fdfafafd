package dryrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const (
	maxUnanswered = 3 // requests without an answer in a row, after which nothing more is sent
	maxTries      = 5 // of one pod, each without one more of its dependencies
	// etcdRequestLimit is the size of a request in bytes that etcd accepts by default, and that a dry run does not test
	// (go.etcd.io/etcd/server/v3/embed/config.go, DefaultMaxRequestBytes).
	etcdRequestLimit = 3 << 19
)

// isInvalidSegment reports whether a name cannot be a segment of a request's path.
func isInvalidSegment(name string) bool { return len(content.IsPathSegmentName(name)) > 0 }

// noteModifiedNeeds notes what an item needs once the resource modifier has changed it.
func (r *runner) noteModifiedNeeds(i *item, o *unstructured.Unstructured) {
	if r.Rules.Modifier == nil || !r.Rules.Modifier.MayChange(i.resource) {
		return
	}
	key := itemKey{i.resource, o.GetNamespace(), o.GetName()}
	modified := o.DeepCopy()
	if _, unsure := r.Rules.Modifier.Apply(i.resource, modified); unsure != "" {
		return
	}
	body, err := modified.MarshalJSON()
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.needs[key] = collector.ReadNeeds(i.resource, body)
}

// sendBody prepares an item of the backup, sends it and decides its verdict.
func (r *runner) sendBody(ctx context.Context, i *item, body []byte) {
	o := &unstructured.Unstructured{}
	switch {
	case ctx.Err() != nil || r.isHalted():
		return
	case body == nil:
		i.setVerdict(cannotTell, "its body in the backup is too large")
		return
	case o.UnmarshalJSON(body) != nil:
		i.setVerdict(cannotTell, "its body in the backup cannot be read")
		return
	case slices.ContainsFunc([]string{resourceName(i.resource), i.namespace, i.name}, isInvalidSegment):
		i.setVerdict(cannotTell, "its name is no part of a path")
		return
	case r.IsAmbiguous(i.resource):
		i.setVerdict(cannotTell, "the backup holds it in several API versions")
		return
	}
	r.noteModifiedNeeds(i, o)
	var change prepare.Change
	if i.resource == live.Namespaces { // no action and no modifier changes it (pkg/restore/restore.go, getNamespace)
		stripNamespace(o, i.name)
	} else if change = r.Rules.PrepareItem(i.resource, o); change.Failure == "" {
		o.SetNamespace(i.namespace) // a cluster-scoped item has none
		i.setName(o.GetName())
	}
	switch {
	case change.Failure != "":
		i.setVerdict(rejected, change.Failure)
		i.isVeleroError = true
		return
	case change.SkipReason != "":
		i.setVerdict(notSent, change.SkipReason)
		return
	case change.UnsureReason != "":
		i.setVerdict(cannotTell, change.UnsureReason)
		return
	}
	in := classifyContext{
		asVelero:            r.AsVelero,
		user:                r.User,
		inStandIn:           r.isNewNamespace(i.namespace),
		restoresKind:        r.restoresKind(i),
		patchesExisting:     r.Rules.Restore.ExistingResourcePolicy == veleroapi.PolicyTypeUpdate,
		restoresLimitRanges: i.resource == "pods" && r.limitedNamespaces[i.namespace],
	}
	in.restoresObject = func(resource, name string) bool {
		// A pod brings its PriorityClass along (pkg/restore/actions/pod_action.go), but not its RuntimeClass.
		if resource == runtimeClasses && slices.Index(r.Order, resource) > slices.Index(r.Order, i.resource) {
			return false
		}
		namespace := i.namespace
		if resource != serviceAccounts && resource != roles {
			namespace = ""
		}
		other := r.itemsByTarget[itemKey{resource, namespace, name}]
		return other != nil && !other.exists
	}
	if in.inStandIn {
		o.SetNamespace(r.StandInNamespace)
	}
	at := resourceOf(i.resource, o)
	answered, err := r.sendObject(ctx, i, at, o, in)
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsUnauthorized(err):
		r.stop(err)
		return
	case err != nil:
		i.setVerdict(cannotTell, "it got no answer: "+err.Error())
		if r.unansweredCount.Add(1) == maxUnanswered {
			r.stop(err)
		}
		return
	}
	r.unansweredCount.Store(0)
	answered = r.allowForUser(ctx, answered)
	if answered.verdict == rejected && change.MaybeSkippedReason != "" {
		answered = answer{verdict: cannotTell, reason: change.MaybeSkippedReason + "; else: " + answered.reason}
	}
	if ctx.Err() == nil {
		i.setVerdict(answered.verdict, answered.reason)
	}
	if len(change.Errors) > 0 { // Velero reports the errors, and still creates the object
		i.setVerdict(rejected, strings.Join(change.Errors, "; "))
		i.isVeleroError = true
	}
}

// setName sets the name that the resource modifier gives an item. Whether an object of a new name exists is unknown.
func (i *item) setName(name string) {
	if i.wasPrepared = true; i.name != name {
		i.name, i.exists, i.existenceUnknown = name, false, true
	}
}

// resourceOf returns where Velero sends an object: an action may have changed its version
// (pkg/restore/restore.go, restoreItem).
func resourceOf(resource string, o *unstructured.Unstructured) schema.GroupVersionResource {
	return o.GroupVersionKind().GroupVersion().WithResource(resourceName(resource))
}

func resourceName(resource string) string {
	name, _, _ := strings.Cut(resource, ".")
	return name
}

// stripNamespace keeps the fields that Velero keeps of a namespace that it creates (pkg/restore/restore.go,
// getNamespace).
func stripNamespace(o *unstructured.Unstructured, name string) {
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	made.SetName(name)
	labels := o.GetLabels()
	delete(labels, veleroapi.BackupNameLabel)
	delete(labels, veleroapi.RestoreNameLabel)
	made.SetLabels(labels)
	made.SetAnnotations(o.GetAnnotations())
	o.Object = made.Object
}

// restoresKind reports whether the restore creates or patches the CRD of an item's kind.
func (r *runner) restoresKind(i *item) bool {
	crd := r.itemsByTarget[itemKey{"customresourcedefinitions.apiextensions.k8s.io", "", i.resource}]
	return crd != nil && (!crd.exists || crd.planned)
}

// sendObject sends an object, and may try again without what the restore creates before it. An error ends the dry
// run.
func (r *runner) sendObject(
	ctx context.Context,
	i *item,
	at schema.GroupVersionResource,
	o *unstructured.Unstructured,
	in classifyContext,
) (answer, error) {
	if !r.groupServers.isLocal(at.Group) {
		err := r.checkDryRunSupport(ctx, at)
		if err != nil && !r.isServed(ctx, at, o) {
			return classifyAnswer(errUnserved, i.resource, in), nil
		}
		if err != nil {
			return answer{verdict: cannotTell, reason: "it was not sent: " + err.Error()}, nil
		}
	}
	i.wasSent = true
	i.lastRequest = sentRequest{
		resource:  at,
		namespace: o.GetNamespace(),
		name:      o.GetName(),
		marked:    o.GetLabels()[veleroapi.RestoreNameLabel] == r.markLabel,
	}
	exists := i.exists
	if i.existenceUnknown && !in.inStandIn {
		_, err := r.getObject(ctx, at, o.GetNamespace(), o.GetName())
		if lacksAnswer(err) {
			return answer{}, err
		}
		if exists = err == nil; exists && r.untouchedReason(i) != "" {
			i.wasSent = false
			return answer{verdict: notSent, reason: r.untouchedReason(i)}, nil
		}
	}
	if exists {
		return r.tryPatch(ctx, i, o, in)
	}
	return r.tryCreate(ctx, i, o, in)
}

// tryCreate sends an object to be created, up to maxTries times.
func (r *runner) tryCreate(
	ctx context.Context,
	i *item,
	o *unstructured.Unstructured,
	in classifyContext,
) (answer, error) {
	var first answer
	for range maxTries {
		data, err := r.createObject(ctx, i.lastRequest.resource, o)
		e := r.corroborateAnswer(ctx, i, proveCreate(o, data, err), err)
		if e.proof == notStored && apierrors.IsAlreadyExists(err) &&
			!in.inStandIn { // it did not exist before: an earlier try may have stored it
			if found, _ := r.readBack(ctx, i); found.proof == carriedOut {
				e = found
			}
		}
		switch r.judgeAnswer(i, e, data); {
		case e.proof == carriedOut:
			return answer{verdict: stored}, nil
		case lacksAnswer(err):
			return answer{}, err
		case err == nil && e.proof == unproven:
			return answer{verdict: cannotTell, reason: notProven + e.reason}, nil
		}
		got := classifyAnswer(err, i.resource, in)
		if size := len(data); got.verdict == accepted && size > etcdRequestLimit &&
			!collector.IsBuiltIn(i.lastRequest.resource.Group) {
			return answer{
				verdict: warned,
				reason: fmt.Sprintf(
					"it has %s as JSON, in which custom resources are stored, and etcd takes 1.5 MiB by default",
					human.Bytes(int64(size)),
				),
			}, nil
		}
		if got.retry == nil || r.isHalted() {
			return got, nil
		}
		first = got
		got.retry(o)
	}
	return answer{verdict: cannotTell, reason: first.reason}, nil
}

const notProven = "its answer does not prove that nothing was stored: "

// errUnserved is kube-apiserver's answer for a kind or a version that it does not serve.
var errUnserved = apierrors.NewGenericServerResponse(404, "", schema.GroupResource{}, "", "", 0, true)

// isServed reports whether a version of a resource is served; false only if the API server says so.
func (r *runner) isServed(ctx context.Context, at schema.GroupVersionResource, o *unstructured.Unstructured) bool {
	_, err := r.getObject(ctx, at, o.GetNamespace(), o.GetName())
	return !apierrors.IsNotFound(err) || !strings.HasPrefix(err.Error(), errUnserved.Error())
}

// tryPatch sends the patch with which Velero brings an existing object to the state of the backup, and, if that is
// rejected, the patch of Velero's labels alone (pkg/restore/restore.go, processUpdateResourcePolicy, 1.18.3). Velero
// only warns about a rejection of the first patch.
func (r *runner) tryPatch(
	ctx context.Context,
	i *item,
	o *unstructured.Unstructured,
	in classifyContext,
) (answer, error) {
	before, err := r.getObject(ctx, i.lastRequest.resource, i.namespace, i.name)
	switch {
	case lacksAnswer(err):
		return answer{}, err
	case err != nil:
		return answer{verdict: cannotTell, reason: "what is there could not be read: " + err.Error()}, nil
	}
	i.lastRequest.namespace, i.lastRequest.name, i.lastRequest.before = i.namespace, i.name, before
	var got answer
	for n, patch := range r.buildPatches(before, o) {
		data, err := patch()
		if err != nil {
			return answer{verdict: cannotTell, reason: "the patch cannot be made: " + err.Error()}, nil
		}
		answered, err := r.patchObject(ctx, i.lastRequest.resource, i.namespace, i.name, data)
		e := r.excludeOtherWriters(ctx, i, provePatch(before, answered, err))
		e = r.corroborateAnswer(ctx, i, e, err)
		switch r.judgeAnswer(i, e, answered); {
		case e.proof == carriedOut:
			return answer{verdict: stored}, nil
		case lacksAnswer(err):
			return answer{}, err
		case err == nil && e.proof == unproven:
			return answer{verdict: cannotTell, reason: notProven + e.reason}, nil
		}
		switch next := classifyAnswer(err, i.resource, in); {
		case n == 0:
			if got = next; got.verdict != rejected || r.isHalted() {
				return got, nil
			}
		case next.verdict == accepted:
			got.verdict = warned
		case next.verdict != rejected:
			return next, nil
		}
	}
	return got, nil
}

// buildPatches returns the patches that Velero sends for an existing object, in their order.
func (r *runner) buildPatches(before, o *unstructured.Unstructured) []func() ([]byte, error) {
	live := before.DeepCopy()
	prepare.ResetMetadata(live)
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[veleroapi.BackupNameLabel], labels[veleroapi.RestoreNameLabel] = "", ""
	live.SetLabels(labels)
	return []func() ([]byte, error){
		func() ([]byte, error) { return mergePatch(live, o) },
		func() ([]byte, error) {
			own := map[string]any{}
			for _, name := range []string{veleroapi.BackupNameLabel, veleroapi.RestoreNameLabel} {
				own[name] = o.GetLabels()[name]
			}
			return json.Marshal(map[string]any{"metadata": map[string]any{"labels": own}})
		},
	}
}

func mergePatch(from, to *unstructured.Unstructured) ([]byte, error) {
	before, err := json.Marshal(from.Object)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to.Object)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(before, after)
}
