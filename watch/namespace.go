package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/session"
)

// metadataList is an empty list of a Velero kind, for metadata only: the rest may be another tenant's, or malformed.
func metadataList(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind(kind + "List"))
	return list
}

var usualNamespaces = []string{"velero", "openshift-adp"}

type installation struct {
	namespace string
	from      NamespaceFrom
	others    []string
	notice    string // says what is wrong with the answer. The search is repeated while it is set
}

func (p installation) describe(n *Snapshot) {
	n.Namespace, n.NamespaceFrom, n.OtherNamespaces, n.Notice = p.namespace, p.from, p.others, p.notice
}

// namedInstallation is the namespace that the user named, empty if none.
func (o Options) namedInstallation() installation {
	if o.Namespace != "" {
		return installation{namespace: o.Namespace, from: FromFlag}
	}
	return installation{namespace: o.EnvNamespace, from: FromEnv}
}

// findInstallation decides which namespace to watch: the one that was named, else the context's if it holds a
// BackupStorageLocation, else one that does: velero first, then by name. If the user may not list all, or there is
// none, it tries the usual ones. It fails if the API server gives no usable answer and no namespace was named.
func findInstallation(ctx context.Context, c *client.Client, o Options) (installation, error) {
	p := o.namedInstallation()
	named := p.namespace != ""
	found, search, err := searchLocations(ctx, c)
	if err == nil && !named {
		p, err = choose(ctx, c, o.ContextNamespace, found)
	}
	if err == nil {
		p.others = slices.DeleteFunc(slices.Clone(found), func(ns string) bool { return ns == p.namespace })
		if !slices.Contains(found, p.namespace) && p.from != FromContext {
			p.notice, err = noticeFor(ctx, c, p, search)
		}
	}
	if err != nil && named {
		p.notice, err = words(err), nil
	}
	return p, err
}

func choose(ctx context.Context, c *client.Client, contextNamespace string, found []string) (installation, error) {
	if contextNamespace != "" {
		if held, err := holdsLocation(ctx, c, contextNamespace); err != nil || held == yes {
			return installation{namespace: contextNamespace, from: FromContext}, err
		}
	}
	if len(found) > 0 {
		return installation{namespace: found[0], from: FromSearch}, nil
	}
	return fallBack(ctx, c)
}

type answer int

const (
	no answer = iota
	yes
	forbidden
	missing
)

func answerOf(err error) (answer, error) {
	switch {
	case err == nil:
		return yes, nil
	case apierrors.IsForbidden(err):
		return forbidden, nil
	case apierrors.IsNotFound(err):
		return missing, nil
	}
	return no, err
}

// searchLocations returns the namespaces that hold a BackupStorageLocation, velero first, then by name.
func searchLocations(ctx context.Context, c *client.Client) (found []string, a answer, err error) {
	list := metadataList("BackupStorageLocation")
	if a, err = answerOf(c.List(ctx, list, "", metav1.ListOptions{})); err != nil {
		return nil, no, fmt.Errorf("looking for Velero in all namespaces: %w", err)
	}
	for i := range list.Items {
		// What is no name of a namespace leads nowhere, and would be drawn.
		if ns := list.Items[i].Namespace; len(validation.IsDNS1123Label(ns)) == 0 {
			found = append(found, ns)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if i := slices.Index(found, usualNamespaces[0]); i > 0 {
		found = slices.Insert(slices.Delete(found, i, i+1), 0, usualNamespaces[0])
	}
	return found, a, nil
}

func holdsLocation(ctx context.Context, c *client.Client, namespace string) (answer, error) {
	list := metadataList("BackupStorageLocation")
	a, err := answerOf(c.List(ctx, list, namespace, metav1.ListOptions{Limit: 1}))
	if err != nil {
		return no, fmt.Errorf("looking for Velero in namespace %s: %w", namespace, err)
	}
	if a == yes && len(list.Items) == 0 {
		a = no
	}
	return a, nil
}

// fallBack takes the first of the usual namespaces that holds a location, else the first that exists, else the first.
func fallBack(ctx context.Context, c *client.Client) (installation, error) {
	best, bestRank := usualNamespaces[0], 0
	for _, ns := range usualNamespaces {
		held, err := holdsLocation(ctx, c, ns)
		there := no
		if err == nil && held != yes {
			there, err = namespaceThere(ctx, c, ns)
		}
		rank := 0
		switch {
		case err != nil:
			return installation{}, err
		case held == yes:
			rank = 3
		case there == yes:
			rank = 2
		case there == forbidden && held == no:
			rank = 1 // it may be there: at least its locations may be listed
		}
		if rank > bestRank {
			best, bestRank = ns, rank
		}
	}
	return installation{namespace: best, from: FromFallback}, nil
}

func namespaceThere(ctx context.Context, c *client.Client, namespace string) (answer, error) {
	found := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	a, err := answerOf(c.Get(ctx, found))
	if err != nil {
		return no, fmt.Errorf("looking for namespace %s: %w", namespace, err)
	}
	return a, nil
}

func noticeFor(ctx context.Context, c *client.Client, p installation, search answer) (string, error) {
	if search == missing {
		return "Velero's custom resources are not installed in this cluster", nil
	}
	if search == forbidden {
		held, err := holdsLocation(ctx, c, p.namespace)
		if err != nil || held == yes || held == forbidden && p.from != FromFallback {
			return "", err
		}
	}
	there, err := namespaceThere(ctx, c, p.namespace)
	if err != nil {
		return "", err
	}
	what := "no BackupStorageLocation in namespace " + p.namespace
	if there == missing {
		what = "there is no namespace " + p.namespace
	}
	switch {
	case search == forbidden && p.from == FromFallback:
		return fmt.Sprintf(
			"you may not look for Velero in all namespaces, so this is a guess: %s; name Velero's namespace with -n",
			p.namespace,
		), nil
	case search == forbidden:
		return what, nil
	case len(p.others) > 0:
		return what + "; Velero is in " + strings.Join(p.others, ", "), nil
	}
	return what + ", nor is there a BackupStorageLocation in any other: is Velero installed?", nil
}

// JobNames reads the names of at most limit jobs of a kind, [Backups] or [Restores]. It gives up when ctx ends.
func JobNames(ctx context.Context, o Options, resource string, limit int64) (names []string, err error) {
	err = look(ctx, o, func(ctx context.Context, c *client.Client) error {
		p := o.namedInstallation()
		if p.namespace == "" {
			if p, err = findInstallation(ctx, c, o); err != nil {
				return err
			}
		}
		k, _ := kindNamed(resource)
		list := metadataList(k.gvk.Kind)
		err := c.List(ctx, list, p.namespace, metav1.ListOptions{Limit: limit})
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return err
	})
	return names, err
}

// Namespaces lists the namespaces in which Velero may be: those with a storage location, velero first.
func Namespaces(ctx context.Context, o Options) (found []string, err error) {
	err = look(ctx, o, func(ctx context.Context, c *client.Client) error {
		found, _, err = searchLocations(ctx, c)
		return err
	})
	return slices.Clip(found), err
}

// NamespaceMissing says that the named namespace does not exist and where Velero is. It is empty if the namespace
// exists or nobody can tell.
func NamespaceMissing(ctx context.Context, o Options) (why string) {
	_ = look(
		ctx,
		o,
		func(ctx context.Context, c *client.Client) error { // what cannot be read is reported once it is watched
			p, err := findInstallation(ctx, c, o)
			if there, thereErr := namespaceThere(
				ctx,
				c,
				p.namespace,
			); err == nil && thereErr == nil &&
				there == missing {
				why = p.notice
			}
			return nil
		},
	)
	return why
}

func look(ctx context.Context, o Options, ask func(context.Context, *client.Client) error) error {
	o = o.withDefaults()
	c, err := open(o.Config, o.Log, session.TransportOptions{Silence: time.Minute})
	if err != nil {
		return err
	}
	return ask(ctx, c.client)
}
