//go:build e2e

package e2e

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// plot is where one obstacle is planted.
type plot struct {
	*testing.T
	obstacle
	namespace string
	spec      veleroapi.RestoreSpec
	undo      []func()
}

// after does something after the row, the last first.
func (p *plot) after(do func()) { p.undo = append(p.undo, do) }

func (p *plot) make(o client.Object) {
	must(p.T, theLab.Client.Create(patient(p.T), o))
	p.after(func() { must(p.T, client.IgnoreNotFound(theLab.Client.Delete(patient(p.T), o))) })
}

// makeNamespace makes the target's namespace with labels, and waits for what Kubernetes makes in it.
func (p *plot) makeNamespace(labels map[string]string) {
	ctx := patient(p.T)
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace, Labels: labels}}
	must(p.T, theLab.Client.Create(ctx, space))
	p.after(func() {
		all := client.InNamespace(p.namespace)
		must(p.T, theLab.Client.DeleteAllOf(ctx, &corev1.Service{}, all)) // they hold node ports
	})
	awaitTrue(p.T, "what Kubernetes makes in "+p.namespace, func() bool {
		in := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: p.namespace, Name: name} }
		return theLab.Client.Get(ctx, in("default"), &corev1.ServiceAccount{}) == nil &&
			theLab.Client.Get(ctx, in("kube-root-ca.crt"), &corev1.ConfigMap{}) == nil
	})
}

// plantAll makes the objects of a text.
func (p *plot) plantAll(text string) {
	for _, o := range objectsOf(p.T, strings.ReplaceAll(text, "$NS", p.namespace), p.namespace) {
		p.make(o)
	}
}

// config makes a ConfigMap in Velero's namespace.
func (p *plot) config(name string, labels, data map[string]string) {
	p.make(
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name, Labels: labels},
			Data:       data,
		},
	)
}

// answers plants a webhook that denies the object of a name, never answers for the name "", and allows the rest.
func (p *plot) answers(deny string, selector string) {
	over := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if deny == "" || json.NewDecoder(r.Body).Decode(&review) != nil || review.Request == nil {
			<-over
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID:     review.Request.UID,
			Allowed: review.Request.Name != deny,
			Result:  &metav1.Status{Message: "not this one"},
		}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	p.after(func() { close(over); server.Close() })
	ca, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	must(p.T, err)
	p.plantAll(hook(fails, selector, `clientConfig: {url: "`+server.URL+`", caBundle: `+string(ca)+`}`))
}

// holdNamespace has the target's namespace be deleted for ever.
func (p *plot) holdNamespace() {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	patch := func(text string) {
		must(
			p.T,
			theLab.Client.Patch(patient(p.T), space, client.RawPatch("application/merge-patch+json", []byte(text))),
		)
	}
	patch(`{"metadata":{"finalizers":["pf.example.com/stays"]}}`)
	must(p.T, theLab.Client.Delete(patient(p.T), space))
	awaitTrue(p.T, "the namespace to be deleted", func() bool {
		must(p.T, theLab.Client.Get(patient(p.T), client.ObjectKeyFromObject(space), space))
		return space.Status.Phase == corev1.NamespaceTerminating
	})
	p.after(func() { patch(`{"metadata":{"finalizers":null}}`) })
}

// restoreBefore restores once before.
func (p *plot) restoreBefore() {
	name := p.namespace + "-before"
	must(p.T, theLab.CreateRestore(patient(p.T), name, p.spec, nil))
	wantEnd(p.T, ended(p.T, "Restore", name), "Completed")
}

// breakService has the group of obdowns be served by an API server that is not there, and Velero know that.
func (p *plot) breakService() {
	ctx := patient(p.T)
	p.after(func() { must(p.T, theLab.KillVelero(ctx)); startAsAccount(p.T) })
	p.plantAll(
		`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.down.pf.example.com}, spec: {group: down.pf.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 15, insecureSkipTLSVerify: true, service: {namespace: ob-nowhere, name: serves}}}`,
	)
	time.Sleep(settling)
	must(p.T, theLab.KillVelero(ctx))
	startAsAccount(p.T)
}
