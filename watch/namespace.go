package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// newMetadataList returns an empty list of a Velero kind, for metadata only: the rest may be another tenant's, or
// malformed.
func newMetadataList(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(veleroapi.GroupVersion.WithKind(kind + "List"))
	return list
}

var usualNamespaces = []string{"velero", "openshift-adp"}

type installation struct {
	namespace       string
	origin          NamespaceOrigin
	otherNamespaces []string
	// hasServer is true if the namespace was found by a server that runs there: it has no location.
	hasServer bool
	notice    string // what is wrong with the choice; the search is repeated while it is set
}

func (p installation) fillSnapshot(n *Snapshot) {
	n.Namespace, n.NamespaceOrigin = p.namespace, p.origin
	n.OtherNamespaces, n.NamespaceNotice = p.otherNamespaces, p.notice
}

// namedInstallation returns the namespace that the user named, empty if none.
func (o Options) namedInstallation() installation {
	if o.Namespace != "" {
		return installation{namespace: o.Namespace, origin: OriginFlag}
	}
	return installation{namespace: o.EnvNamespace, origin: OriginEnv}
}

// findInstallation decides which namespace to watch: the named one, else the context's if it holds a
// BackupStorageLocation, else another that holds one: velero first, then by name. If the user may not list all
// namespaces, or none holds a location, it tries the usual names, and then where a server runs. It fails if the API
// server gives no usable answer and no namespace was named.
func findInstallation(ctx context.Context, c *client.Client, o Options) (installation, error) {
	p := o.namedInstallation()
	named := p.namespace != ""
	found, search, err := searchLocations(ctx, c)
	if err == nil && !named {
		p, err = chooseNamespace(ctx, c, o.ContextNamespace, found)
	}
	if err == nil {
		p.otherNamespaces = slices.DeleteFunc(slices.Clone(found), func(ns string) bool { return ns == p.namespace })
		if !slices.Contains(found, p.namespace) && p.origin != OriginContext {
			p.notice, err = buildNotice(ctx, c, p, search)
		}
	}
	if err != nil && named {
		p.notice, err = formatError(err), nil
	}
	return p, err
}

func chooseNamespace(
	ctx context.Context,
	c *client.Client,
	contextNamespace string,
	found []string,
) (installation, error) {
	if contextNamespace != "" {
		if held, err := lookupLocation(ctx, c, contextNamespace); err != nil || held == lookupFound {
			return installation{namespace: contextNamespace, origin: OriginContext}, err
		}
	}
	if len(found) > 0 {
		return installation{namespace: found[0], origin: OriginSearch}, nil
	}
	p, hasLocation, err := chooseFallback(ctx, c)
	if err != nil || hasLocation {
		return p, err
	}
	if servers := searchServers(ctx, c); len(servers) > 0 {
		return installation{namespace: servers[0], origin: OriginSearch, hasServer: true}, nil
	}
	return p, nil
}

// serverSelectors select the pods of servers by the labels of `velero install` and OADP, and of the Helm chart.
var serverSelectors = []string{"component=velero", "app.kubernetes.io/name=velero"}

// maxServerPods is how many pods of a selector are read.
const maxServerPods = 100

// searchServers returns the namespaces with a pod of Velero's server, velero first, then by name: a Velero that was
// just installed has no location. Without the right to list the pods of all namespaces, there are none.
func searchServers(ctx context.Context, c *client.Client) (found []string) {
	for _, selector := range serverSelectors {
		pods, err := c.Pods("").List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: maxServerPods})
		if err != nil {
			return nil
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; velero.IsServer(p) && len(validation.IsDNS1123Label(p.Namespace)) == 0 {
				found = append(found, p.Namespace)
			}
		}
	}
	return sortNamespaces(found)
}

// sortNamespaces returns each namespace once, velero first, then by name.
func sortNamespaces(found []string) []string {
	slices.Sort(found)
	found = slices.Compact(found)
	if i := slices.Index(found, usualNamespaces[0]); i > 0 {
		found = slices.Insert(slices.Delete(found, i, i+1), 0, usualNamespaces[0])
	}
	return found
}

type lookupResult int

const (
	lookupEmpty lookupResult = iota
	lookupFound
	lookupForbidden
	lookupMissing
)

func lookupResultOf(err error) (lookupResult, error) {
	switch {
	case err == nil:
		return lookupFound, nil
	case apierrors.IsForbidden(err):
		return lookupForbidden, nil
	case apierrors.IsNotFound(err):
		return lookupMissing, nil
	}
	return lookupEmpty, err
}

// searchLocations returns the namespaces that hold a BackupStorageLocation, velero first, then by name.
func searchLocations(ctx context.Context, c *client.Client) (found []string, a lookupResult, err error) {
	list := newMetadataList("BackupStorageLocation")
	if a, err = lookupResultOf(c.List(ctx, list, "", metav1.ListOptions{})); err != nil {
		return nil, lookupEmpty, fmt.Errorf("looking for Velero in all namespaces: %w", err)
	}
	for i := range list.Items {
		// An invalid namespace name leads nowhere, and would be drawn.
		if ns := list.Items[i].Namespace; len(validation.IsDNS1123Label(ns)) == 0 {
			found = append(found, ns)
		}
	}
	return sortNamespaces(found), a, nil
}

func lookupLocation(ctx context.Context, c *client.Client, namespace string) (lookupResult, error) {
	list := newMetadataList("BackupStorageLocation")
	a, err := lookupResultOf(c.List(ctx, list, namespace, metav1.ListOptions{Limit: 1}))
	if err != nil {
		return lookupEmpty, fmt.Errorf("looking for Velero in namespace %s: %w", namespace, err)
	}
	if a == lookupFound && len(list.Items) == 0 {
		a = lookupEmpty
	}
	return a, nil
}

// chooseFallback picks the first of the usual namespaces that holds a location, else the first that exists, else the
// first.
func chooseFallback(ctx context.Context, c *client.Client) (p installation, hasLocation bool, err error) {
	best, bestRank := usualNamespaces[0], 0
	for _, ns := range usualNamespaces {
		held, err := lookupLocation(ctx, c, ns)
		there := lookupEmpty
		if err == nil && held != lookupFound {
			there, err = lookupNamespace(ctx, c, ns)
		}
		rank := 0
		switch {
		case err != nil:
			return installation{}, false, err
		case held == lookupFound:
			rank = 3
		case there == lookupFound:
			rank = 2
		case there == lookupForbidden && held == lookupEmpty:
			rank = 1 // it may exist: at least its locations may be listed
		}
		if rank > bestRank {
			best, bestRank = ns, rank
		}
	}
	return installation{namespace: best, origin: OriginFallback}, bestRank == 3, nil
}

func lookupNamespace(ctx context.Context, c *client.Client, namespace string) (lookupResult, error) {
	found := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	a, err := lookupResultOf(c.Get(ctx, found))
	if err != nil {
		return lookupEmpty, fmt.Errorf("looking for namespace %s: %w", namespace, err)
	}
	return a, nil
}

func buildNotice(ctx context.Context, c *client.Client, p installation, search lookupResult) (string, error) {
	if search == lookupMissing {
		return "Velero's custom resources are not installed in this cluster", nil
	}
	if search == lookupForbidden {
		held, err := lookupLocation(ctx, c, p.namespace)
		if err != nil || held == lookupFound || held == lookupForbidden && p.origin != OriginFallback {
			return "", err
		}
	}
	there, err := lookupNamespace(ctx, c, p.namespace)
	if err != nil {
		return "", err
	}
	what := "no BackupStorageLocation in namespace " + p.namespace
	if p.hasServer {
		return what + ", where Velero's server runs: it backs up nothing before there is one", nil
	}
	if there == lookupMissing {
		what = "there is no namespace " + p.namespace
	}
	switch {
	case search == lookupForbidden && p.origin == OriginFallback:
		return fmt.Sprintf(
			"you may not look for Velero in all namespaces, so this is a guess: %s; name Velero's namespace with -n",
			p.namespace,
		), nil
	case search == lookupForbidden:
		return what, nil
	case len(p.otherNamespaces) > 0:
		return what + "; Velero is in " + strings.Join(p.otherNamespaces, ", "), nil
	}
	return what + ", nor is there a BackupStorageLocation in any other: is Velero installed?", nil
}

// ListJobNames returns the names of at most limit jobs of a kind, [Backups] or [Restores]. It gives up when ctx ends.
func ListJobNames(ctx context.Context, o Options, resource string, limit int64) (names []string, err error) {
	err = withClient(ctx, o, func(ctx context.Context, c *client.Client) error {
		p := o.namedInstallation()
		if p.namespace == "" {
			if p, err = findInstallation(ctx, c, o); err != nil {
				return err
			}
		}
		k, _ := kindByResource(resource)
		list := newMetadataList(k.gvk.Kind)
		err := c.List(ctx, list, p.namespace, metav1.ListOptions{Limit: limit})
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return err
	})
	return names, err
}

// ErrSearchForbidden is the error of [ListNamespaces] for a user who may not list the storage locations of all
// namespaces.
var ErrSearchForbidden = errors.New("you may not look for Velero in all namespaces, which takes the right to list " +
	"backupstoragelocations in all of them")

// ListNamespaces returns the namespaces in which Velero may be: those with a storage location, velero first.
func ListNamespaces(ctx context.Context, o Options) (found []string, err error) {
	err = withClient(ctx, o, func(ctx context.Context, c *client.Client) error {
		var search lookupResult
		if found, search, err = searchLocations(ctx, c); err == nil && search == lookupForbidden {
			err = ErrSearchForbidden
		}
		return err
	})
	return slices.Clip(found), err
}

// MissingNamespaceNotice returns a notice that the named namespace does not exist, and where Velero is. It is empty
// if the namespace exists or its existence is unknown.
func MissingNamespaceNotice(ctx context.Context, o Options) (why string) {
	_ = withClient(
		ctx,
		o,
		func(ctx context.Context, c *client.Client) error { // errors are reported once the namespace is watched
			p, err := findInstallation(ctx, c, o)
			if there, thereErr := lookupNamespace(
				ctx,
				c,
				p.namespace,
			); err == nil && thereErr == nil &&
				there == lookupMissing {
				why = p.notice
			}
			return nil
		},
	)
	return why
}

func withClient(ctx context.Context, o Options, ask func(context.Context, *client.Client) error) error {
	o = o.withDefaults()
	c, err := newConnection(o.Config, o.Log, session.TransportOptions{SilenceTimeout: time.Minute})
	if err != nil {
		return err
	}
	return ask(ctx, c.client)
}
