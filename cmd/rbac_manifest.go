package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/assets"
)

// rbacRoles are the roles; each has the rights of those before it.
var rbacRoles = []string{"viewer", "artifacts", "operator"}

// right is one of internal/assets/rbac/rights.yaml.
type right struct {
	Name         string              `json:"name"`
	Role         string              `json:"role"`
	Optional     bool                `json:"optional"`
	For          string              `json:"for"`       // what veltui does with it
	Without      string              `json:"without"`   // what is lost without it
	Namespace    string              `json:"namespace"` // where Rules hold, if not in Velero's
	Rules        []rbacv1.PolicyRule `json:"rules"`
	ClusterRules []rbacv1.PolicyRule `json:"clusterRules"`
}

const storeNamespace = "STORE" // in a right, for --store-namespace

var rights = sync.OnceValue(func() []right {
	data, err := assets.RBAC.ReadFile("rbac/rights.yaml")
	var all []right
	if err == nil {
		err = yaml.UnmarshalStrict(data, &all)
	}
	if err != nil {
		panic(err) // it is embedded, and TestRights reads it
	}
	return all
})

func optionalRights() []string {
	var names []string
	for _, r := range rights() {
		if r.Optional && r.Namespace != storeNamespace {
			names = append(names, r.Name)
		}
	}
	return names
}

// of reports whether a role has the right, or may have it.
func (r *right) of(role string) bool {
	return slices.Index(rbacRoles, r.Role) <= slices.Index(rbacRoles, role)
}

type subject rbacv1.Subject

func (f *rbacFlags) subjects() ([]subject, error) {
	var subjects []subject
	for _, g := range f.groups {
		subjects = append(subjects, subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: g})
	}
	for _, u := range f.users {
		subjects = append(subjects, subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: u})
	}
	for _, s := range subjects {
		if strings.TrimSpace(s.Name) == "" {
			return nil, usagef("the name of a %s is empty", strings.ToLower(s.Kind))
		}
	}
	for _, a := range f.serviceAccount {
		namespace, name, _ := strings.Cut(a, ":")
		if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, usagef("--service-account %q: expected NAMESPACE:NAME", a)
		}
		subjects = append(subjects, subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
	}
	return subjects, nil
}

// holdsVelero reports whether a subject is, or contains, Velero's service account. `velero
// install` names it velero, the Helm chart velero-server or after its release.
func (s subject) holdsVelero(namespace string) bool {
	return s.Namespace == namespace && strings.HasPrefix(s.Name, "velero") ||
		s.Kind == rbacv1.UserKind && strings.HasPrefix(s.Name, "system:serviceaccount:"+namespace+":velero") ||
		s.Kind == rbacv1.GroupKind && slices.Contains([]string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + namespace}, s.Name)
}

func (s subject) expression() string {
	switch s.Kind {
	case rbacv1.GroupKind:
		return quoted(s.Name) + " in request.userInfo.groups"
	case rbacv1.ServiceAccountKind:
		return "request.userInfo.username == " + quoted("system:serviceaccount:"+s.Namespace+":"+s.Name)
	}
	return "request.userInfo.username == " + quoted(s.Name)
}

// quoted is a string as JSON, which is YAML and CEL too.
func quoted(text string) string {
	data, _ := json.Marshal(text) // a string can always be written
	return string(data)
}

func policyManifest(f *rbacFlags, operators []subject) ([]byte, error) {
	data, err := assets.RBAC.ReadFile("rbac/policy.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	who := mapSlice(operators, subject.expression)
	values := strings.NewReplacer("$(NAME)", cmp.Or(f.name, "veltui-operator")+"-"+f.namespace, "$(NAMESPACE)", f.namespace, "$(WHO)", strings.Join(who, " || "))
	return []byte(values.Replace(string(data))), nil
}

// roleManifest has a role with the chosen rights, its parts elsewhere, and the bindings.
func roleManifest(role string, f *rbacFlags, subjects []subject) ([]byte, error) {
	m := manifest{name: cmp.Or(f.name, "veltui-"+role), velero: f.namespace, subjects: subjects}
	fmt.Fprintf(&m.text, "# Rights of veltui's role %s, for the Velero in namespace %s.\n", role, f.namespace)
	var places []string // namespaces, the empty one for the whole cluster
	in := map[string][]string{}
	grant := func(place string, r *right, rules []rbacv1.PolicyRule) {
		if len(rules) == 0 {
			return
		}
		places = appendNew(places, place)
		in[place] = append(in[place], rulesText(r, rules))
	}
	for i := range rights() {
		switch r := &rights()[i]; {
		case !r.of(role):
		case !r.Optional, slices.Contains(f.with, r.Name), r.Namespace == storeNamespace && f.store != "":
			place := cmp.Or(r.Namespace, f.namespace)
			if place == storeNamespace {
				place = f.store
			}
			grant(place, r, r.Rules)
			grant("", r, r.ClusterRules)
		default:
			flag := "--with " + r.Name
			if r.Namespace == storeNamespace {
				flag = "--store-namespace"
			}
			fmt.Fprintf(&m.text, "# Not in it: %s (%s). Without it %s.\n", r.Name, flag, r.Without)
		}
	}
	for _, place := range places {
		m.add(place, in[place])
	}
	return m.text.Bytes(), nil
}

type manifest struct {
	name, velero string // what all names begin with
	subjects     []subject
	text         bytes.Buffer
	begun        bool
}

func (m *manifest) add(namespace string, rules []string) {
	kind, where, name := "Role", "  namespace: "+namespace+"\n", m.name+"-"+m.velero
	switch namespace {
	case "":
		kind, where = "ClusterRole", ""
	case m.velero:
		name = m.name
	}
	m.object(kind, name, where)
	fmt.Fprintf(&m.text, "rules:\n%s", strings.Join(rules, ""))
	if len(m.subjects) == 0 {
		return
	}
	m.object(kind+"Binding", name, where)
	fmt.Fprintf(&m.text, "roleRef:\n  apiGroup: %s\n  kind: %s\n  name: %s\nsubjects:\n", rbacv1.GroupName, kind, name)
	for _, s := range m.subjects {
		fmt.Fprintf(&m.text, "  - kind: %s\n    name: %s\n", s.Kind, quoted(s.Name))
		if s.Namespace != "" {
			fmt.Fprintf(&m.text, "    namespace: %s\n", s.Namespace)
		} else {
			fmt.Fprintf(&m.text, "    apiGroup: %s\n", s.APIGroup)
		}
	}
}

func (m *manifest) object(kind, name, where string) {
	if m.begun {
		m.text.WriteString("---\n")
	}
	m.begun = true
	fmt.Fprintf(&m.text, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n%s", rbacv1.SchemeGroupVersion, kind, name, where)
}

func rulesText(r *right, rules []rbacv1.PolicyRule) string {
	var text strings.Builder
	fmt.Fprintf(&text, "  # %s: %s.\n  # Without it %s.\n", r.Name, r.For, r.Without)
	for _, rule := range rules {
		fmt.Fprintf(&text, "  - apiGroups: %s\n    resources: %s\n", flow(rule.APIGroups), flow(rule.Resources))
		if len(rule.ResourceNames) > 0 {
			fmt.Fprintf(&text, "    resourceNames: %s\n", flow(rule.ResourceNames))
		}
		fmt.Fprintf(&text, "    verbs: %s\n", flow(rule.Verbs))
	}
	return text.String()
}

func flow(items []string) string {
	shown := slices.Clone(items)
	for i, item := range shown {
		if item == "" || item == "*" {
			shown[i] = `"` + item + `"`
		}
	}
	return "[" + strings.Join(shown, ", ") + "]"
}
