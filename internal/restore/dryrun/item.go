package dryrun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
)

const (
	maxSilent = 3 // requests without an answer, one after the other, after which no more are sent
	maxTries  = 5 // of one pod, each without one thing more on which it depends
	// etcdLimit is the size of a request in bytes that etcd takes by default, which a dry run does not reach
	// (go.etcd.io/etcd/server/v3/embed/config.go, DefaultMaxRequestBytes).
	etcdLimit = 3 << 19
)

// isNoSegment reports whether a name cannot be part of a request's path.
func isNoSegment(name string) bool { return len(content.IsPathSegmentName(name)) > 0 }

// sendBody prepares an item of the backup, sends it and decides what became of it.
func (r *run) sendBody(ctx context.Context, i *item, body []byte) {
	o := &unstructured.Unstructured{}
	switch {
	case ctx.Err() != nil || r.halted():
		return
	case body == nil:
		i.decide(cannotTell, "its body in the backup is too large")
		return
	case o.UnmarshalJSON(body) != nil:
		i.decide(cannotTell, "its body in the backup cannot be read")
		return
	case slices.ContainsFunc([]string{resourceName(i.resource), i.namespace, i.name}, isNoSegment):
		i.decide(cannotTell, "its name is no part of a path")
		return
	case r.Ambiguous(i.resource):
		i.decide(cannotTell, "the backup holds it in several API versions")
		return
	}
	var change prepare.Change
	if i.resource == live.Namespaces { // no action and no modifier changes it (pkg/restore/restore.go, getNamespace)
		newNamespace(o, i.name)
	} else if change = r.Rules.Item(i.resource, o); change.Fails == "" {
		o.SetNamespace(i.namespace) // an item of the cluster has none
	}
	switch {
	case change.Fails != "":
		i.decide(rejected, change.Fails)
		i.byVelero = true
		return
	case change.Skip != "":
		i.decide(notSent, change.Skip)
		return
	case change.Unsure != "":
		i.decide(cannotTell, change.Unsure)
		return
	}
	in := situation{
		asVelero:     r.AsVelero,
		who:          r.Who,
		standIn:      r.isNew(i.namespace),
		bringsKind:   r.bringsKind(i),
		updates:      r.Rules.Restore.ExistingResourcePolicy == velerov1.PolicyTypeUpdate,
		bringsLimits: i.resource == "pods" && r.limits[i.namespace],
	}
	in.brings = func(resource, name string) bool {
		// A pod's PriorityClass comes along with it (pkg/restore/actions/pod_action.go), its RuntimeClass does not.
		if resource == runtimes && slices.Index(r.Order, resource) > slices.Index(r.Order, i.resource) {
			return false
		}
		namespace := i.namespace
		if resource != accounts && resource != roles {
			namespace = ""
		}
		other := r.targets[place{resource, namespace, name}]
		return other != nil && !other.exists
	}
	if in.standIn {
		o.SetNamespace(r.StandIn)
	}
	at := resourceOf(i.resource, o)
	answered, err := r.ask(ctx, i, at, o, in)
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsUnauthorized(err):
		r.stop(err)
		return
	case err != nil:
		i.decide(cannotTell, "it got no answer: "+err.Error())
		if r.silent.Add(1) == maxSilent {
			r.stop(err)
		}
		return
	}
	r.silent.Store(0)
	answered = r.allowForWho(ctx, answered)
	if answered.verdict == rejected && change.Perhaps != "" {
		answered = answer{verdict: cannotTell, why: change.Perhaps + "; else: " + answered.why}
	}
	if ctx.Err() == nil {
		i.decide(answered.verdict, answered.why)
	}
	if len(change.Errors) > 0 { // Velero reports them, and creates the object all the same
		i.decide(rejected, strings.Join(change.Errors, "; "))
		i.byVelero = true
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

// newNamespace keeps what Velero keeps of a namespace that it makes (pkg/restore/restore.go, getNamespace).
func newNamespace(o *unstructured.Unstructured, name string) {
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	made.SetName(name)
	labels := o.GetLabels()
	delete(labels, velerov1.BackupNameLabel)
	delete(labels, velerov1.RestoreNameLabel)
	made.SetLabels(labels)
	made.SetAnnotations(o.GetAnnotations())
	o.Object = made.Object
}

// bringsKind reports whether the restore brings the CRD of an item's kind, or patches it.
func (r *run) bringsKind(i *item) bool {
	crd := r.targets[place{"customresourcedefinitions.apiextensions.k8s.io", "", i.resource}]
	return crd != nil && (!crd.exists || crd.planned)
}

// ask sends an object, for another try without what the restore creates before. An error ends the dry run.
func (r *run) ask(
	ctx context.Context,
	i *item,
	at schema.GroupVersionResource,
	o *unstructured.Unstructured,
	in situation,
) (answer, error) {
	if !r.servers.isLocal(at.Group) {
		err := r.honoursDryRun(ctx, at)
		if err != nil && !r.serves(ctx, at, o) {
			return classify(errUnserved, i.resource, in), nil
		}
		if err != nil {
			return answer{verdict: cannotTell, why: "it was not sent: " + err.Error()}, nil
		}
	}
	i.asked = true
	i.send = request{
		at:        at,
		namespace: o.GetNamespace(),
		name:      o.GetName(),
		marked:    o.GetLabels()[velerov1.RestoreNameLabel] == r.mark,
	}
	exists := i.exists
	if i.unseen && !in.standIn {
		_, err := r.get(ctx, at, o.GetNamespace(), o.GetName())
		if isNoAnswer(err) {
			return answer{}, err
		}
		if exists = err == nil; exists && r.leaves(i) != "" {
			i.asked = false
			return answer{verdict: notSent, why: r.leaves(i)}, nil
		}
	}
	if exists {
		return r.askPatch(ctx, i, o, in)
	}
	return r.askCreate(ctx, i, o, in)
}

// askCreate sends an object to be created, up to maxTries times.
func (r *run) askCreate(ctx context.Context, i *item, o *unstructured.Unstructured, in situation) (answer, error) {
	var first answer
	for range maxTries {
		data, err := r.create(ctx, i.send.at, o)
		e := r.corroborate(ctx, i, proveCreate(o, data, err), err)
		if e.proof == notStored && apierrors.IsAlreadyExists(err) &&
			!in.standIn { // it did not exist before: an earlier try may have stored it
			if found, _ := r.readBack(ctx, i); found.proof == carriedOut {
				e = found
			}
		}
		switch r.judge(i, e, data); {
		case e.proof == carriedOut:
			return answer{verdict: stored}, nil
		case isNoAnswer(err):
			return answer{}, err
		case err == nil && e.proof == unproven:
			return answer{verdict: cannotTell, why: notProven + e.why}, nil
		}
		got := classify(err, i.resource, in)
		if size := len(data); got.verdict == accepted && size > etcdLimit && !collector.IsBuiltIn(i.send.at.Group) {
			return answer{
				verdict: warned,
				why: fmt.Sprintf(
					"it has %s as JSON, in which custom resources are stored, and etcd takes 1.5 MiB by default",
					human.Bytes(int64(size)),
				),
			}, nil
		}
		if got.retry == nil || r.halted() {
			return got, nil
		}
		first = got
		got.retry(o)
	}
	return answer{verdict: cannotTell, why: first.why}, nil
}

const notProven = "its answer does not prove that nothing was stored: "

// errUnserved is kube-apiserver's answer for a kind or a version that it does not serve.
var errUnserved = apierrors.NewGenericServerResponse(404, "", schema.GroupResource{}, "", "", 0, true)

// serves reports whether a version of a resource is served; false only if the API server says so.
func (r *run) serves(ctx context.Context, at schema.GroupVersionResource, o *unstructured.Unstructured) bool {
	_, err := r.get(ctx, at, o.GetNamespace(), o.GetName())
	return !apierrors.IsNotFound(err) || !strings.HasPrefix(err.Error(), errUnserved.Error())
}

// askPatch sends the patch with which Velero brings an object that exists to the state of the backup, and if that is
// rejected, the one of Velero's labels alone (pkg/restore/restore.go, processUpdateResourcePolicy, 1.18.3). Of the
// first Velero only warns.
func (r *run) askPatch(ctx context.Context, i *item, o *unstructured.Unstructured, in situation) (answer, error) {
	before, err := r.get(ctx, i.send.at, i.namespace, i.name)
	switch {
	case isNoAnswer(err):
		return answer{}, err
	case err != nil:
		return answer{verdict: cannotTell, why: "what is there could not be read: " + err.Error()}, nil
	}
	i.send.namespace, i.send.name, i.send.before = i.namespace, i.name, before
	var got answer
	for n, patch := range r.patches(before, o) {
		data, err := patch()
		if err != nil {
			return answer{verdict: cannotTell, why: "the patch cannot be made: " + err.Error()}, nil
		}
		answered, err := r.patch(ctx, i.send.at, i.namespace, i.name, data)
		e := r.exceptOthers(ctx, i, provePatch(before, answered, err))
		e = r.corroborate(ctx, i, e, err)
		switch r.judge(i, e, answered); {
		case e.proof == carriedOut:
			return answer{verdict: stored}, nil
		case isNoAnswer(err):
			return answer{}, err
		case err == nil && e.proof == unproven:
			return answer{verdict: cannotTell, why: notProven + e.why}, nil
		}
		switch next := classify(err, i.resource, in); {
		case n == 0:
			if got = next; got.verdict != rejected || r.halted() {
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

// patches are those that Velero sends of an object that exists, one after the other.
func (r *run) patches(before, o *unstructured.Unstructured) []func() ([]byte, error) {
	live := before.DeepCopy()
	prepare.Reset(live)
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[velerov1.BackupNameLabel], labels[velerov1.RestoreNameLabel] = "", ""
	live.SetLabels(labels)
	return []func() ([]byte, error){
		func() ([]byte, error) { return mergePatch(live, o) },
		func() ([]byte, error) {
			own := map[string]any{}
			for _, name := range []string{velerov1.BackupNameLabel, velerov1.RestoreNameLabel} {
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
