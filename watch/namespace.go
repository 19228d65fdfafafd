package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/client"
)

// Of what the search asks for only the metadata is read: what else is in a
// tenant's resources is none of our business, and may be malformed.
var (
	locationKind  = velerov1.SchemeGroupVersion.WithKind("BackupStorageLocation")
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")
)

// locations is an empty list of BackupStorageLocations.
func locations() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(locationKind.GroupVersion().WithKind("BackupStorageLocationList"))
	return list
}

// usualNamespaces are where Velero and OADP are installed by default.
var usualNamespaces = []string{"velero", "openshift-adp"}

// installation says where Velero is.
type installation struct {
	namespace string
	from      NamespaceFrom
	others    []string
	// notice says what is wrong with the answer; it is asked again while it is
	// not empty.
	notice string
}

// describe puts it into a snapshot.
func (p installation) describe(n *Snapshot) {
	n.Namespace, n.NamespaceFrom, n.OtherNamespaces, n.Notice = p.namespace, p.from, p.others, p.notice
}

// requested are the namespaces that a person has named.
type requested struct{ flag, env, context string }

// findInstallation decides which namespace to watch: the one that was asked for, else
// the context's if it holds a BackupStorageLocation, else one that does: velero
// first, then by name. If nobody may look everywhere, or there is none, it
// tries the usual ones. It fails if the API server gives no usable answer and
// no namespace was asked for.
func findInstallation(ctx context.Context, c *client.Client, a requested) (installation, error) {
	p := installation{namespace: a.flag, from: FromFlag}
	if p.namespace == "" {
		p = installation{namespace: a.env, from: FromEnv}
	}
	named := p.namespace != ""
	found, search, err := searchLocations(ctx, c)
	if err == nil && !named {
		p, err = choose(ctx, c, a.context, found)
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

// choose picks a default namespace.
func choose(ctx context.Context, c *client.Client, contextNamespace string, found []string) (installation, error) {
	if contextNamespace != "" {
		held, err := holdsLocation(ctx, c, contextNamespace)
		if err != nil {
			return installation{}, err
		}
		if held == yes {
			return installation{namespace: contextNamespace, from: FromContext}, nil
		}
	}
	if len(found) > 0 {
		return installation{namespace: found[0], from: FromSearch}, nil
	}
	return fallBack(ctx, c)
}

// answer is what a question to the API server led to.
type answer int

const (
	no answer = iota
	yes
	forbidden
	missing
)

// answerOf tells a no of the server from no answer at all.
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

// searchLocations returns the namespaces that hold a BackupStorageLocation,
// velero first, then by name.
func searchLocations(ctx context.Context, c *client.Client) (found []string, a answer, err error) {
	list := locations()
	if a, err = answerOf(c.List(ctx, list, "", metav1.ListOptions{})); err != nil {
		return nil, no, fmt.Errorf("looking for Velero in all namespaces: %w", err)
	}
	for i := range list.Items {
		// What is no name of a namespace leads nowhere, and would be drawn.
		if ns := list.Items[i].Namespace; len(validation.IsDNS1123Label(ns)) == 0 {
			found = append(found, ns)
		}
	}
	slices.SortFunc(found, func(x, y string) int {
		if (x == usualNamespaces[0]) != (y == usualNamespaces[0]) {
			if x == usualNamespaces[0] {
				return -1
			}
			return 1
		}
		return strings.Compare(x, y)
	})
	return slices.Compact(found), a, nil
}

func holdsLocation(ctx context.Context, c *client.Client, namespace string) (answer, error) {
	list := locations()
	a, err := answerOf(c.List(ctx, list, namespace, metav1.ListOptions{Limit: 1}))
	if err != nil {
		return no, fmt.Errorf("looking for Velero in namespace %s: %w", namespace, err)
	}
	if a == yes && len(list.Items) == 0 {
		a = no
	}
	return a, nil
}

// fallBack takes the first of the usual namespaces that holds a location, else
// the first that exists, else the first.
func fallBack(ctx context.Context, c *client.Client) (installation, error) {
	best, bestRank := usualNamespaces[0], 0
	for _, ns := range usualNamespaces {
		held, err := holdsLocation(ctx, c, ns)
		if err != nil {
			return installation{}, err
		}
		rank := 0
		if held == yes {
			rank = 3
		} else {
			there, err := namespaceThere(ctx, c, ns)
			if err != nil {
				return installation{}, err
			}
			switch {
			case there == yes:
				rank = 2
			case there == forbidden && held == no:
				// It may be there: at least its locations may be looked at.
				rank = 1
			}
		}
		if rank > bestRank {
			best, bestRank = ns, rank
		}
	}
	return installation{namespace: best, from: FromFallback}, nil
}

func namespaceThere(ctx context.Context, c *client.Client, namespace string) (answer, error) {
	found := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	found.SetGroupVersionKind(namespaceKind)
	a, err := answerOf(c.Get(ctx, found))
	if err != nil {
		return no, fmt.Errorf("looking for namespace %s: %w", namespace, err)
	}
	return a, nil
}

// noticeFor says what a person should know about a namespace in which the
// search has found nothing.
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
		return fmt.Sprintf("you may not look for Velero in all namespaces, so this is a guess: %s; name Velero's namespace with -n", p.namespace), nil
	case search == forbidden:
		return what, nil
	case len(p.others) > 0:
		return what + "; Velero is in " + strings.Join(p.others, ", "), nil
	}
	return what + ", nor is there a BackupStorageLocation in any other: is Velero installed?", nil
}
