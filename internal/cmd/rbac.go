package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/assets"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view/document"
)

const rbacPolicy = "policy"

type rbacFlags struct {
	out                           io.Writer
	namespace, store, name        string
	with                          []string
	groups, users, serviceAccount []string
	output                        string
}

func newRBAC(c *cli) *cobra.Command {
	f := rbacFlags{out: c.streams.Out}
	cmd := &cobra.Command{
		Use:   "rbac viewer|artifacts|operator|policy",
		Short: "Print the roles that veltui needs, as manifests for kubectl apply",
		Long: `Print the roles that veltui needs, as manifests for kubectl apply. rbac
contacts no cluster and changes nothing.

viewer     looks at backups and restores, and at what they wait for
artifacts  also reads what is stored: logs, results, contents of backups. Anyone
           with this role can read every Secret in every backup
operator   also finalizes, wakes, cancels volumes, and writes an Event about it; --with
           create-restores, delete-backups and the like also does that
policy     limits what the people you name may create, change and delete to what
           veltui writes, with ValidatingAdmissionPolicies (Kubernetes 1.30 and newer).
           It fits every role that writes: artifacts creates DownloadRequests

Each role has the rights of those before it. --with adds optional rights; the
manifest says what you lose without each. --group, --user and --service-account
bind the role; for policy they name the people whom it limits. No role lets preflight --dry-run
ask as Velero's service account (verb impersonate): that gives all of its rights.

kubectl apply replaces what has the same name: a second manifest for other people
takes the role, or the limits of the policy, from the first. Name everybody in
one manifest, or give each manifest a --name of its own.`,
		Example: `  # Let a group look at the Velero in namespace velero
  veltui rbac viewer --group backup-viewers | kubectl apply -f -

  # With live logs, and the namespaces that a restore waits for
  veltui rbac viewer --with logs,namespaces --group backup-viewers | kubectl apply -f -

  # Let on-call people finalize, and change no more than veltui does
  veltui rbac operator --group on-call | kubectl apply -f -
  veltui rbac policy --group on-call | kubectl apply -f -

  # One policy for the people of two roles
  veltui rbac policy --group on-call --group backup-admins | kubectl apply -f -

  # For a pod of namespace tools, and a Velero in openshift-adp
  veltui rbac artifacts -n openshift-adp --service-account tools:veltui | kubectl apply -f -

  # The same for another team, beside the first
  veltui rbac operator --name dba-restore --group dba | kubectl apply -f -
  veltui rbac policy --name dba-restore --group dba | kubectl apply -f -

  # Every verb of a role, for a review
  veltui rbac operator -o json | jq -c '.items[].rules[]?'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
				return usagef("expected viewer, artifacts, operator or policy\nSee '%s --help'.", cmd.CommandPath())
			}
			return nil
		},
		ValidArgs: append(slices.Clone(rbacRoles), rbacPolicy),
		RunE: func(_ *cobra.Command, args []string) error {
			f.namespace = cmp.Or(c.flags.Context.Namespace, c.env("VELERO_NAMESPACE"), "velero")
			return f.print(args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.with, "with", nil, "Optional rights to add: "+strings.Join(optionalRights(), ", "))
	flags.StringVar(
		&f.store,
		"store-namespace",
		"",
		"Namespace of an object store that only the cluster can reach: adds the rights to reach it (artifacts, operator)",
	)
	flags.StringArrayVar(&f.groups, "group", nil, "Group to bind the role to")
	flags.StringArrayVar(&f.users, "user", nil, "User to bind the role to")
	flags.StringArrayVar(
		&f.serviceAccount,
		"service-account",
		nil,
		"Service account to bind the role to, as NAMESPACE:NAME",
	)
	flags.StringVar(
		&f.name,
		"name",
		"",
		"Begin all names in the manifest with this (default veltui-ROLE); kubectl apply replaces what has the same name",
	)
	addOutput(cmd, &f.output, "yaml", "json")
	completeFlag(cmd, "with", several(optionalRights()))
	completeFlag(cmd, "store-namespace", c.completeValues(c.namespaces))
	return cmd
}

func (f *rbacFlags) print(what string) error {
	subjects, err := f.check(what)
	if err != nil {
		return err
	}
	var manifest []byte
	if what == rbacPolicy {
		manifest, err = policyManifest(f, subjects)
	} else {
		manifest, err = roleManifest(what, f, subjects)
	}
	if err == nil && f.output == "json" {
		manifest, err = manifestJSON(manifest)
	}
	if err != nil {
		return err
	}
	_, err = f.out.Write(manifest)
	return err
}

func (f *rbacFlags) check(what string) ([]subject, error) {
	for flag, namespace := range map[string]string{"namespace": f.namespace, "store-namespace": f.store} {
		if wrong := validation.IsDNS1123Label(namespace); namespace != "" && len(wrong) > 0 {
			return nil, usagef("--%s: %q is not a valid namespace name: %s", flag, namespace, wrong[0])
		}
	}
	if wrong := validation.IsDNS1123Subdomain(f.name + "-" + f.namespace); f.name != "" && len(wrong) > 0 {
		return nil, usagef("--name %q: %s", f.name, wrong[0])
	}
	for _, name := range f.with {
		if !slices.Contains(optionalRights(), name) {
			return nil, usagef(
				"--with %s: there is no such right; there are %s",
				name,
				human.List(optionalRights(), 20),
			)
		}
		r := &rights()[slices.IndexFunc(rights(), func(r right) bool { return r.Name == name })]
		if what != rbacPolicy && !r.of(what) {
			return nil, usagef(
				"--with %s: this right is for %s",
				name,
				human.List(rbacRoles[slices.Index(rbacRoles, r.Role):], 3),
			)
		}
	}
	switch {
	case what == rbacPolicy && (len(f.with) > 0 || f.store != ""):
		return nil, usagef("--with and --store-namespace are for roles")
	case f.store != "" && what == rbacRoles[0]:
		return nil, usagef("--store-namespace is for artifacts and operator")
	}
	subjects, err := f.subjects()
	if err != nil || what != rbacPolicy {
		return subjects, err
	}
	if len(subjects) == 0 {
		return nil, usagef(
			"name the operators, and who else the policy limits, with --group, --user or --service-account",
		)
	}
	for _, s := range subjects {
		if s.holdsVelero(f.namespace) {
			return nil, usagef(
				"the policy would limit Velero itself, which could then not write how its jobs go: %s is or holds a service "+
					"account of namespace %s whose name begins with velero",
				s.Name,
				f.namespace,
			)
		}
	}
	return subjects, nil
}

func manifestJSON(manifest []byte) ([]byte, error) {
	list := struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}{APIVersion: "v1", Kind: "List"}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		data, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("writing the manifest: %w", err)
		}
		list.Items = append(list.Items, data)
	}
	return document.Encode(list, "  ")
}

// rbacRoles are the roles; each has the rights of those before it.
var rbacRoles = []string{"viewer", "artifacts", "operator"}

// right is one of assets/rbac/rights.yaml.
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
		s.Kind == rbacv1.GroupKind &&
			slices.Contains(
				[]string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + namespace},
				s.Name,
			)
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

func policyManifest(f *rbacFlags, named []subject) ([]byte, error) {
	data, err := assets.RBAC.ReadFile("rbac/policy.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	who := mapSlice(named, subject.expression)
	values := strings.NewReplacer(
		"$(NAME)",
		cmp.Or(f.name, "veltui-operator")+"-"+f.namespace,
		"$(NAMESPACE)",
		f.namespace,
		"$(WHO)",
		strings.Join(who, " || "),
	)
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
	fmt.Fprintf(
		&m.text,
		"apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n%s",
		rbacv1.SchemeGroupVersion,
		kind,
		name,
		where,
	)
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
