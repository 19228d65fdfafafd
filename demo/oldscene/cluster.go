package oldscene

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/veltui/veltui/demo/sim"
)

// builder creates objects, many at a time, and remembers them as items of the
// cluster that Velero backs up.
type builder struct {
	api    client.Client
	scheme *runtime.Scheme

	mu      sync.Mutex
	items   map[string]*sim.Item
	order   []string
	volumes []sim.Volume
}

// thing is one object to create. status is written in a second step where the
// kind has a status subresource.
type thing struct {
	resource string
	object   client.Object
	status   func(client.Object)
}

// workers is how many objects are created at a time.
const workers = 8

// createAll creates things in parallel; their order in the cluster's items is
// the order given.
func (b *builder) createAll(ctx context.Context, things []thing) error {
	items := make([]*sim.Item, len(things))
	errs := make([]error, len(things))
	next := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for n := range next {
				items[n], errs[n] = b.create(ctx, things[n])
			}
		})
	}
	for n := range things {
		next <- n
	}
	close(next)
	group.Wait()
	for _, item := range items {
		if item != nil {
			b.remember(item)
		}
	}
	return errors.Join(errs...)
}

func (b *builder) create(ctx context.Context, t thing) (*sim.Item, error) {
	err := b.api.Create(ctx, t.object)
	if apierrors.IsAlreadyExists(err) {
		err = b.api.Get(ctx, client.ObjectKeyFromObject(t.object), t.object)
	}
	if err == nil && t.status != nil {
		t.status(t.object)
		err = b.api.Status().Update(ctx, t.object)
	}
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", t.resource, client.ObjectKeyFromObject(t.object), err)
	}
	if t.resource == "" {
		return nil, nil
	}
	return b.item(t.resource, t.object)
}

func (b *builder) item(resource string, object client.Object) (*sim.Item, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	gvk, err := apiutil.GVKForObject(object, b.scheme)
	if err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(gvk)
	return sim.NewItem(resource, u)
}

func (b *builder) remember(item *sim.Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := item.GroupResource() + "/" + item.Namespace + "/" + item.Name
	if _, known := b.items[key]; !known {
		b.order = append(b.order, key)
	}
	b.items[key] = item
}

func (b *builder) cluster() *sim.Cluster {
	c := &sim.Cluster{Volumes: b.volumes, Quotas: smallNamespaces}
	for _, key := range b.order {
		c.Items = append(c.Items, b.items[key])
	}
	return c
}

// buildCluster creates all applications.
func buildCluster(ctx context.Context, api client.Client, scheme *runtime.Scheme) (*sim.Cluster, error) {
	b := &builder{api: api, scheme: scheme, items: map[string]*sim.Item{}}
	var first, rest []thing
	for _, node := range nodes {
		first = append(first, thing{object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"kubernetes.io/hostname": node, "kubernetes.io/os": "linux"}}}})
	}
	for _, a := range apps {
		first = append(first, thing{"namespaces", namespace(a.namespace, a.team), nil})
		rest = append(rest, a.things()...)
	}
	for name, limit := range smallNamespaces {
		first = append(first, thing{object: namespace(name, "trial")})
		hard := corev1.ResourceList{
			"count/configmaps": *resource.NewQuantity(int64(limit), resource.DecimalSI),
			"count/secrets":    *resource.NewQuantity(int64(limit), resource.DecimalSI),
		}
		rest = append(rest, thing{object: &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: hard},
		}})
	}
	if err := b.createAll(ctx, first); err != nil {
		return nil, err
	}
	if err := b.campaigns(ctx); err != nil {
		return nil, err
	}
	if err := b.createAll(ctx, rest); err != nil {
		return nil, err
	}
	if err := b.disks(ctx); err != nil {
		return nil, err
	}
	return b.cluster(), nil
}

func namespace(name, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

// things are an app's objects but for its volumes and the pods that use them.
func (a app) things() []thing {
	var all []thing
	meta := func(name, tier string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: a.namespace, Name: name,
			Labels: map[string]string{"app": a.namespace, "team": a.team, "tier": tier},
		}
	}
	for n := range a.serviceAccounts {
		all = append(all, thing{"serviceaccounts", &corev1.ServiceAccount{ObjectMeta: meta(fmt.Sprintf("%s-sa-%02d", a.namespace, n), "access")}, nil})
	}
	all = append(all,
		thing{"roles", &rbacv1.Role{ObjectMeta: meta(a.namespace+"-reader", "access"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}}, nil},
		thing{"rolebindings", &rbacv1.RoleBinding{
			ObjectMeta: meta(a.namespace+"-reader", "access"),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: a.namespace + "-reader"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: a.namespace, Name: a.namespace + "-sa-00"}},
		}, nil})
	for n := range a.secrets {
		all = append(all, thing{"secrets", &corev1.Secret{ObjectMeta: meta(fmt.Sprintf("%s-key-%03d", a.namespace, n), "config"), StringData: map[string]string{"token": token(a.namespace, n)}}, nil})
	}
	for n := range a.configMaps {
		m := meta(fmt.Sprintf("%s-settings-%03d", a.namespace, n), "config")
		if n%97 == 96 {
			m.Labels["velero.io/exclude-from-backup"] = "true"
		}
		all = append(all, thing{"configmaps", &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"log.level": "info", "shard": fmt.Sprint(n % 16), "etag": token(a.namespace, n)}}, nil})
	}
	for n := range a.services {
		all = append(all, thing{"services", &corev1.Service{ObjectMeta: meta(a.component(n), "front"), Spec: corev1.ServiceSpec{
			Selector: map[string]string{"component": a.component(n)}, Ports: []corev1.ServicePort{{Name: "http", Port: 8080}},
		}}, nil})
	}
	for n := range a.deployments {
		all = append(all, a.deployment(n, meta)...)
	}
	return all
}

var components = []string{"api", "web", "worker", "search", "mailer", "cache", "gateway", "report", "import", "export", "auth", "events"}

func (a app) component(n int) string {
	name := components[n%len(components)]
	if n >= len(components) {
		name += fmt.Sprintf("-%d", n/len(components)+1)
	}
	return a.namespace + "-" + name
}

// deployment is a Deployment with its ReplicaSet and one pod, as the
// controllers that this control plane does not run would have made them.
func (a app) deployment(n int, meta func(name, tier string) metav1.ObjectMeta) []thing {
	name := a.component(n)
	labels := map[string]string{"app": a.namespace, "component": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		ServiceAccountName: a.namespace + "-sa-00",
		Containers:         []corev1.Container{{Name: "main", Image: "registry.example.com/" + a.namespace + "/" + name + ":2.4.1"}},
	}}
	if n < len(a.volumes) {
		claim := a.volumes[n].claim
		template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
		template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	one := int32(1)
	hash := token(name, n)[:9]
	deployment, set, pod := meta(name, "back"), meta(name+"-"+hash, "back"), meta(name+"-"+hash+"-"+token(hash, n)[:5], "back")
	spec := template.Spec
	spec.NodeName = nodes[n%len(nodes)]
	pod.Labels = labels
	return []thing{
		{"deployments", &appsv1.Deployment{ObjectMeta: deployment, Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: selector, Template: template}}, nil},
		{"replicasets", &appsv1.ReplicaSet{ObjectMeta: set, Spec: appsv1.ReplicaSetSpec{Replicas: &one, Selector: selector, Template: template}}, nil},
		{"pods", &corev1.Pod{ObjectMeta: pod, Spec: spec}, func(o client.Object) { o.(*corev1.Pod).Status.Phase = corev1.PodRunning }},
	}
}

// token is a made-up but stable string of lower-case letters and digits.
func token(seed string, n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", seed, n)
	sum := h.Sum64()
	var out strings.Builder
	for range 13 {
		out.WriteByte(letters[sum%uint64(len(letters))])
		sum /= uint64(len(letters))
	}
	return out.String()
}
