package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// kind is one kind of object and how common it is among a hundred items.
type kind struct {
	dir, version, apiVersion, kind string
	namespaced                     bool
	share                          int
	size                           float64 // relative to the mean body
}

// kinds is the mix of a busy cluster: many small generated objects, fewer but
// larger configuration objects.
var kinds = []kind{
	{"pods", "v1", "v1", "Pod", true, 15, 1.2},
	{"configmaps", "v1", "v1", "ConfigMap", true, 18, 1.8},
	{"secrets", "v1", "v1", "Secret", true, 16, 0.8},
	{"replicasets.apps", "v1", "apps/v1", "ReplicaSet", true, 12, 0.8},
	{"deployments.apps", "v1", "apps/v1", "Deployment", true, 6, 1.0},
	{"services", "v1", "v1", "Service", true, 6, 0.4},
	{"endpoints", "v1", "v1", "Endpoints", true, 4, 0.3},
	{"endpointslices.discovery.k8s.io", "v1", "discovery.k8s.io/v1", "EndpointSlice", true, 4, 0.4},
	{"serviceaccounts", "v1", "v1", "ServiceAccount", true, 4, 0.2},
	{"rolebindings.rbac.authorization.k8s.io", "v1", "rbac.authorization.k8s.io/v1", "RoleBinding", true, 2, 0.2},
	{"persistentvolumeclaims", "v1", "v1", "PersistentVolumeClaim", true, 2, 0.6},
	{"persistentvolumes", "v1", "v1", "PersistentVolume", false, 1, 0.6},
	{"jobs.batch", "v1", "batch/v1", "Job", true, 3, 1.0},
	{
		"customresourcedefinitions.apiextensions.k8s.io",
		"v1",
		"apiextensions.k8s.io/v1",
		"CustomResourceDefinition",
		false,
		1,
		6,
	},
	{"widgets.example.com", "v1alpha1", "example.com/v1alpha1", "Widget", true, 6, 1.2},
}

const namespaces = 80

type generator struct{ rand *rand.Rand }

func (g *generator) pickKind() kind {
	n := g.rand.IntN(100)
	for _, k := range kinds {
		if n -= k.share; n < 0 {
			return k
		}
	}
	return kinds[0]
}

func (g *generator) namespace() string { return fmt.Sprintf("team-%02d", g.rand.IntN(namespaces)) }

func (g *generator) name(k kind, i int) string {
	switch k.kind {
	case "CustomResourceDefinition":
		return fmt.Sprintf("gadgets%d.example.com", i)
	case "Pod":
		return fmt.Sprintf("app-%d-%s-%s", i, g.letters(10), g.letters(5))
	default:
		return fmt.Sprintf("%s-%d", strings.ToLower(k.kind), i)
	}
}

const alphabet = "bcdfghjklmnpqrstvwxz2456789"

func (g *generator) letters(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.rand.IntN(len(alphabet))]
	}
	return string(b)
}

func (g *generator) uid() string {
	a, b := g.rand.Uint64(), g.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&0xffffffffffff)
}

// object renders one object as Velero does: keys sorted, no white space.
func (g *generator) object(k kind, namespace, name string, mean int) []byte {
	var b strings.Builder
	want := int(float64(mean) * k.size * (0.5 + g.rand.Float64()))
	fmt.Fprintf(&b, `{"apiVersion":%q,`, k.apiVersion)
	switch k.kind {
	case "ConfigMap":
		fmt.Fprintf(&b, `"data":{"application.yaml":%q},`, g.text(want))
	case "Secret":
		fmt.Fprintf(&b, `"data":{"password":%q},`, g.base64(want))
	}
	fmt.Fprintf(
		&b,
		`"kind":%q,"metadata":{"annotations":{"example.com/checksum":%q},"creationTimestamp":"2026-11-%02dT%02d:41:57Z",`,
		k.kind,
		g.uid(),
		1+g.rand.IntN(28),
		g.rand.IntN(24),
	)
	g.labels(&b)
	g.managedFields(&b, want)
	fmt.Fprintf(&b, `"name":%q,`, name)
	if namespace != "" {
		fmt.Fprintf(&b, `"namespace":%q,`, namespace)
	}
	fmt.Fprintf(&b, `"resourceVersion":"%d","uid":%q}`, g.rand.IntN(1<<30), g.uid())
	g.spec(&b, k, name, want)
	b.WriteByte('}')
	return []byte(b.String())
}

var teams = []string{"red", "green", "blue", "violet", "orange", "black", "white"}

func (g *generator) labels(b *strings.Builder) {
	fmt.Fprintf(
		b,
		`"labels":{"app.kubernetes.io/instance":"release-%d","app.kubernetes.io/managed-by":"Helm",`+
			`"app.kubernetes.io/name":"app-%d","pod-template-hash":%q,"team":%q},`,
		g.rand.IntN(400),
		g.rand.IntN(90),
		g.letters(10),
		teams[g.rand.IntN(len(teams))],
	)
}

// managedFields is where much of a real object's size is.
func (g *generator) managedFields(b *strings.Builder, want int) {
	b.WriteString(
		`"managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{` +
			`"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/name":{}}},"f:spec":{`,
	)
	for i := 0; i*60 < want/4; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(
			b,
			`"f:%s":{".":{},"k:{\"name\":\"c%d\"}":{".":{},"f:value":{}}}`,
			words[g.rand.IntN(len(words))],
			i,
		)
	}
	b.WriteString(`}},"manager":"helm","operation":"Update","time":"2026-11-21T01:41:57Z"}],`)
}

func (g *generator) spec(b *strings.Builder, k kind, name string, want int) {
	switch k.kind {
	case "ConfigMap":
	case "Secret":
		b.WriteString(`,"type":"Opaque"`)
	case "CustomResourceDefinition":
		plural, group, _ := strings.Cut(name, ".")
		fmt.Fprintf(
			b,
			`,"spec":{"group":%q,"names":{"kind":"G%s","plural":%q,"singular":%q},`+
				`"scope":"Namespaced","versions":[{"name":"v1","schema":{"openAPIV3Schema":{"properties":{`,
			group,
			plural,
			plural,
			strings.TrimSuffix(plural, "s"),
		)
		g.fields(b, want)
		b.WriteString(`},"type":"object"}},"served":true,"storage":true}]}`)
	case "PersistentVolumeClaim":
		b.WriteString(`,"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast",`)
		g.fields(b, want)
		fmt.Fprintf(b, `,"volumeName":"persistentvolume-%d"},"status":{"phase":"Bound"}`, g.rand.IntN(1<<16))
	case "Pod":
		b.WriteString(`,"spec":{"containers":[`)
		g.containers(b, want)
		phase := "Running"
		if g.rand.IntN(10) == 0 {
			phase = "Succeeded"
		}
		fmt.Fprintf(
			b,
			`],"serviceAccountName":"default"},"status":{"phase":%q,"podIP":"10.%d.%d.%d"}`,
			phase,
			g.rand.IntN(256),
			g.rand.IntN(256),
			g.rand.IntN(256),
		)
	case "Job":
		b.WriteString(`,"spec":{"template":{"spec":{"containers":[`)
		g.containers(b, want)
		b.WriteString(`]}}},"status":{"completionTime":"2026-11-21T01:41:57Z","succeeded":1}`)
	case "Deployment", "ReplicaSet":
		b.WriteString(`,"spec":{"replicas":2,"template":{"spec":{"containers":[`)
		g.containers(b, want)
		b.WriteString(`]}}},"status":{"observedGeneration":1}`)
	default:
		b.WriteString(`,"spec":{`)
		g.fields(b, want)
		b.WriteString(`}`)
	}
}

var words = strings.Fields(
	`timeout replicas host port image secretKeyRef configMapKeyRef resources limits requests cpu memory
	tolerations affinity probe path scheme periodSeconds failureThreshold volume mountPath readOnly subPath strategy
	retention endpoint bucket region credentials token issuer audience cluster namespace selector schedule suspend
	backoff parallelism
	description type properties format items required nullable default pattern minimum maximum`,
)

func (g *generator) word() string { return words[g.rand.IntN(len(words))] }

// text is configuration as people write it: words that repeat, values that do not.
func (g *generator) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		switch g.rand.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "%s.%s: %d\n", g.word(), g.word(), g.rand.IntN(100000))
		case 1:
			fmt.Fprintf(&b, "  - %s: \"%s-%s\"\n", g.word(), g.word(), g.letters(6))
		case 2:
			fmt.Fprintf(&b, "# %s %s %s %s %s\n", g.word(), g.word(), g.word(), g.word(), g.word())
		default:
			fmt.Fprintf(
				&b,
				"  %s: https://%s.example.com:%d/%s\n",
				g.word(),
				g.word(),
				1000+g.rand.IntN(9000),
				g.word(),
			)
		}
	}
	return b.String()
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// base64 does not compress below three quarters: certificates and keys.
func (g *generator) base64(n int) string {
	b := make([]byte, n/4*4)
	for i := range b {
		b[i] = base64Alphabet[g.rand.IntN(64)]
	}
	return string(b)
}

func (g *generator) fields(b *strings.Builder, n int) {
	start := b.Len()
	for i := 0; b.Len()-start < n || i == 0; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(
			b,
			`"%s%d":{"description":"The %s %s of the %s %s.","type":"%s"}`,
			g.word(),
			i,
			g.word(),
			g.word(),
			g.word(),
			g.word(),
			g.word(),
		)
	}
}

func (g *generator) containers(b *strings.Builder, n int) {
	start := b.Len()
	for i := 0; b.Len()-start < n || i == 0; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(
			b,
			`{"env":[{"name":"%s_%s","value":"%s"},{"name":"%s","valueFrom":{"secretKeyRef":{"key":"%s","name":"%s-%d"}}}],`+
				`"image":"registry.example.com/%s/%s:%d.%d.%d","imagePullPolicy":"IfNotPresent","name":"c%d",`+
				`"resources":{"limits":{"memory":"%dMi"},"requests":{"cpu":"%dm","memory":"%dMi"}},`+
				`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}`,
			g.word(),
			g.word(),
			g.letters(8),
			g.word(),
			g.word(),
			g.word(),
			g.rand.IntN(1000),
			g.word(),
			g.word(),
			g.rand.IntN(9),
			g.rand.IntN(30),
			g.rand.IntN(100),
			i,
			g.rand.IntN(4096),
			g.rand.IntN(4000),
			g.rand.IntN(4096),
		)
	}
}
