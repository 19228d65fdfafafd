//go:build e2e

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// causeSource is the namespace from which the planted causes back up and restore, and the backup of it.
const causeSource = "causes"

// causeObjects are backed up, each with a label that says in which group it is restored.
const causeObjects = `{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-a, labels: {cause: maps, lab.veltui.io/acted: early}}, data: {from: backup}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-b, labels: {cause: maps}}, data: {from: backup}}
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-c, labels: {cause: maps}}, data: {from: backup}}
{apiVersion: v1, kind: Pod, metadata: {name: po-a, labels: {cause: pod}}, spec: {containers: [{name: main, image: a, resources: {requests: {cpu: 10m}, limits: {cpu: 20m, memory: 64Mi}}}]}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, labels: {cause: claim}}, spec: {storageClassName: cause-class, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
{apiVersion: v1, kind: Service, metadata: {name: port, labels: {cause: port}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"ports":[{"port":80,"nodePort":30017}]}}'}}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30017}]}}
{apiVersion: causes.veltui.io/v1, kind: Causewidget, metadata: {name: widget, labels: {cause: widget}}, spec: {size: 1}}`

// causeDefinition is the kind of the custom object; it goes once the object is backed up.
const causeDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: causewidgets.causes.veltui.io}, spec: {group: causes.veltui.io, scope: Namespaced, names: {kind: Causewidget, listKind: CausewidgetList, plural: causewidgets, singular: causewidget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: cause-class}, provisioner: cause.csi.veltui.io}`

// causeServer are the flags of the server in which causes are planted. With a single slot the queue would stand still
// after a backup that fails validation at once: backup_queue_controller.go (Reconcile, 1.18.0 to 1.18.3) notes a backup as
// ready to start after the patch by which the backup controller may have ended it already, and then for ever.
var causeServer = slices.Concat(unthrottled, []string{"--concurrent-backups=32"})

// plantCauseSource makes the namespace and its backup. Then the kind of the custom object goes.
func plantCauseSource(t *testing.T) {
	t.Helper()
	ctx := patient(t)
	must(t, theLab.KillVelero(ctx)) // a server looks for new kinds every five minutes
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: causeSource}}))
	definitions := objectsOf(t, causeDefinition, "")
	for _, o := range definitions {
		must(t, theLab.Client.Create(ctx, o))
	}
	awaitTrue(t, "the kind to be served", func() bool {
		_, err := theLab.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: "causes.veltui.io", Kind: "Causewidget"})
		return err == nil
	})
	for _, o := range objectsOf(t, causeObjects, causeSource) {
		eventuallyCreate(t, o)
	}
	must(t, theLab.StartVelero(ctx, causeServer...))
	h := backup(t, causeSource, veleroapi.BackupSpec{IncludedNamespaces: []string{causeSource}}, nil)
	wantEnd(t, h, "Completed")
	must(t, theLab.DeleteAndWait(ctx, definitions[0]))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: causeSource, Name: "port"}}
	must(t, theLab.DeleteAndWait(ctx, service)) // it holds its node port
}

// causePlot is where one cause is planted.
type causePlot struct {
	*plot
	restoreAnnotations lab.Annotations
}

// restores makes a restore of groups of the source into the namespace of the plot.
func (p *causePlot) restores(groups string, changes ...func(*veleroapi.RestoreSpec)) (job string) {
	spec := veleroapi.RestoreSpec{
		BackupName:       causeSource,
		NamespaceMapping: map[string]string{causeSource: p.namespace},
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "cause", Operator: metav1.LabelSelectorOpIn, Values: strings.Fields(groups)}}},
	}
	for _, change := range changes {
		change(&spec)
	}
	createRestore(p.T, p.namespace, spec, p.restoreAnnotations)
	return "restore/" + p.namespace
}

// backsUp makes a backup of some of the source.
func (p *causePlot) backsUp(a lab.Annotations, changes ...func(*veleroapi.BackupSpec)) (job string) {
	spec := veleroapi.BackupSpec{
		IncludedNamespaces: []string{causeSource},
		IncludedResources:  []string{"configmaps"},
	}
	for _, change := range changes {
		change(&spec)
	}
	createBackup(p.T, p.namespace, spec, a)
	p.after(func() { // it would be a finding of all that follow
		meta := metav1.ObjectMeta{Namespace: lab.Namespace, Name: p.namespace}
		must(p.T, client.IgnoreNotFound(theLab.Client.Delete(patient(p.T), &veleroapi.Backup{ObjectMeta: meta})))
	})
	return "backup/" + p.namespace
}

// location makes a storage location as the default one but for changes, and waits for its phase.
func (p *causePlot) location(
	phase veleroapi.BackupStorageLocationPhase, changes ...func(*veleroapi.BackupStorageLocationSpec),
) func(*veleroapi.BackupSpec) {
	ctx := patient(p.T)
	var usual veleroapi.BackupStorageLocation
	must(p.T, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: lab.LocationName}, &usual))
	location := &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: p.namespace}, Spec: *usual.Spec.DeepCopy(),
	}
	location.Spec.Default, location.Spec.ObjectStorage.Bucket = false, p.namespace
	must(p.T, theLab.MakeBucket(p.namespace))
	for _, change := range changes {
		change(&location.Spec)
	}
	p.make(location)
	p.awaitLocation(phase)
	return func(s *veleroapi.BackupSpec) { s.StorageLocation = p.namespace }
}

// locationConfig sets keys of a location's configuration.
func locationConfig(keysAndValues ...string) func(*veleroapi.BackupStorageLocationSpec) {
	return func(s *veleroapi.BackupStorageLocationSpec) {
		for i := 0; i < len(keysAndValues); i += 2 {
			s.Config[keysAndValues[i]] = keysAndValues[i+1]
		}
	}
}

// faulty starts a store with a fault before the S3 server, and returns what leads a location to it.
func (p *causePlot) faulty(fault lab.StoreFault, overTLS bool) func(*veleroapi.BackupStorageLocationSpec) {
	server := lab.StartSilentServer(theLab.NewFaultyStore(fault), overTLS)
	p.after(server.Close)
	return locationConfig("s3Url", server.URL)
}

// storesSomething matches the requests that store something.
func storesSomething(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodPost
}

// unavailable has a backup go to a store that refuses everything.
func unavailable(code string, status int, message string) func(*causePlot) string {
	return func(p *causePlot) string {
		fault := p.faulty(lab.StoreFault{Status: status, Code: code, Message: message}, false)
		return p.backsUp(nil, p.location(veleroapi.BackupStorageLocationPhaseUnavailable, fault))
	}
}

// refusesUploads has a backup go to a store that can be read, and stores nothing.
func refusesUploads(code string, status int, message string) func(*causePlot) string {
	return func(p *causePlot) string {
		refusal := lab.StoreFault{Status: status, Code: code, Message: message, Matches: storesSomething}
		fault := p.faulty(refusal, false)
		return p.backsUp(nil, p.location(veleroapi.BackupStorageLocationPhaseAvailable, fault))
	}
}

// isInProgress waits until the server is at work on a job, which a gate holds.
func (p *causePlot) isInProgress(job string) {
	kind, name := splitJob(job)
	await(p.T, kind, name, "be in progress", lab.InPhase("InProgress"))
	p.after(func() { must(p.T, theLab.OpenGate(name)) })
}

// held has the lab's plugin hold a job of the plot at its gate.
func (p *causePlot) held() lab.Annotations { return lab.Annotations{lab.HoldAnnotation: p.namespace} }

// refusesAt plants objects, and waits until the API server refuses a probe in the plot's namespace.
func (p *causePlot) refusesAt(planted, probe string) {
	p.plantAll(planted)
	o := objectsOf(p.T, probe, p.namespace)[0]
	awaitTrue(p.T, "the API server to refuse "+o.GetName(), func() bool {
		return theLab.Client.Create(patient(p.T), o.DeepCopy(), client.DryRunAll) != nil
	})
}

// cure carries out an advised command.
func (p *causePlot) cure(command string) {
	if strings.HasPrefix(command, "kubectl ") && kubectlPath() == "" {
		p.Skip("no kubectl here")
	}
	if code, printed := runShell(p.T, command); code != 0 {
		p.Fatalf("%s ended with %d: %s", command, code, printed)
	}
}

// secret makes credentials for a location in Velero's namespace.
func (p *causePlot) secret(content string) {
	p.make(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: p.namespace},
		StringData: map[string]string{"cloud": content},
	})
}

// withSecret has a location use the credentials of the plot, which need not be there.
func (p *causePlot) withSecret(s *veleroapi.BackupStorageLocationSpec) {
	s.Credential = &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: p.namespace}, Key: "cloud",
	}
}

// restart starts the server with flags for this row.
func (p *causePlot) restart(flags ...string) {
	must(p.T, theLab.EnsureVelero(patient(p.T), flags...))
	p.after(func() { must(p.T, theLab.EnsureVelero(patient(p.T), causeServer...)) })
}

// asUser starts the server for this row with the rights of another user.
func (p *causePlot) asUser(user string) {
	p.after(func() {
		must(p.T, theLab.KillVelero(patient(p.T)))
		must(p.T, theLab.StartVelero(patient(p.T), causeServer...))
	})
	must(p.T, theLab.KillVelero(patient(p.T)))
	startAs(p.T, user)
}

// restoresHeld makes a restore that the lab's plugin holds at its gate.
func (p *causePlot) restoresHeld(groups string) (job string) {
	p.restoreAnnotations = p.held()
	return p.restores(groups)
}

// awaitLocation waits until the location of the plot is in a phase.
func (p *causePlot) awaitLocation(phase veleroapi.BackupStorageLocationPhase) {
	location := &veleroapi.BackupStorageLocation{}
	awaitTrue(p.T, "the location to be "+string(phase), func() bool {
		key := client.ObjectKey{Namespace: lab.Namespace, Name: p.namespace}
		must(p.T, theLab.Client.Get(patient(p.T), key, location))
		return location.Status.Phase == phase
	})
	p.Logf("location: %s", location.Status.Message)
}

// awaitBound waits until a claim of the plot is bound.
func (p *causePlot) awaitBound(name string) {
	claim := &corev1.PersistentVolumeClaim{}
	awaitTrue(p.T, "claim "+name+" to be bound", func() bool {
		must(p.T, theLab.Client.Get(patient(p.T), client.ObjectKey{Namespace: p.namespace, Name: name}, claim))
		return claim.Status.Phase == corev1.ClaimBound
	})
}
