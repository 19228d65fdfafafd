package client

import (
	"context"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

type Kinds struct {
	// ResourceLists holds the versions of all groups in the server's order: each group's preferred version first.
	ResourceLists []*metav1.APIResourceList
	Unanswered    map[schema.GroupVersion]error // the group versions that did not answer
}

// PreferredResources returns each resource once, in its group's most preferred version that has it, without
// subresources.
func (k *Kinds) PreferredResources() []*metav1.APIResourceList {
	var preferred []*metav1.APIResourceList
	taken := map[schema.GroupResource]bool{}
	for _, all := range k.ResourceLists {
		group, _ := schema.ParseGroupVersion(all.GroupVersion)
		list := &metav1.APIResourceList{GroupVersion: all.GroupVersion}
		for _, r := range all.APIResources {
			name := schema.GroupResource{Group: group.Group, Resource: r.Name}
			if !strings.Contains(r.Name, "/") && !taken[name] {
				taken[name] = true
				list.APIResources = append(list.APIResources, r)
			}
		}
		preferred = append(preferred, list)
	}
	return preferred
}

func (c *Client) ServerVersion(ctx context.Context) (version.Info, error) {
	var info version.Info
	err := decodeAnswer(c.REST.Get().AbsPath("/version").Do(ctx), &info)
	return info, err
}

func (c *Client) ServerResources(ctx context.Context, g schema.GroupVersion) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: g.String()}
	return list, decodeAnswer(c.REST.Get().AbsPath(groupVersionPath(g)).Do(ctx), list)
}

// DiscoverKinds returns all kinds of the server. It asks once more if groups did not answer: their server may have
// just started.
func (c *Client) DiscoverKinds(ctx context.Context) (*Kinds, error) {
	k, err := c.discoverOnce(ctx)
	if err == nil && len(k.Unanswered) > 0 {
		k, err = c.discoverOnce(ctx)
	}
	if ctx.Err() != nil { // a cancelled request does not make a group silent
		return nil, context.Cause(ctx)
	}
	return k, err
}

func (c *Client) discoverOnce(ctx context.Context) (*Kinds, error) {
	k := &Kinds{Unanswered: map[schema.GroupVersion]error{}}
	var open []schema.GroupVersion
	for _, root := range []string{"/api", "/apis"} {
		left, err := c.discoverRoot(ctx, root, k)
		if err != nil && !(root == "/api" && apierrors.IsNotFound(err)) { // an aggregated API server may have none
			return nil, err
		}
		open = append(open, left...)
	}
	k.ResourceLists = append(k.ResourceLists, c.fetchResourceLists(ctx, open, k.Unanswered)...)
	return k, nil
}

// acceptAggregated asks for all kinds at once, since Kubernetes 1.26
// (https://kubernetes.io/docs/concepts/overview/kubernetes-api, Aggregated discovery).
const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discoverRoot reads /api or /apis, and returns the versions that must be requested one by one from an older server.
func (c *Client) discoverRoot(ctx context.Context, path string, k *Kinds) (open []schema.GroupVersion, err error) {
	var contentType string
	answer := c.REST.Get().
		AbsPath(path).
		SetHeader("Accept", acceptAggregated+",application/json").
		Do(ctx).
		ContentType(&contentType)
	if isAggregated(contentType) {
		var groups apidiscoveryv2.APIGroupDiscoveryList
		if err := decodeAnswer(answer, &groups); err != nil {
			return nil, err
		}
		for i := range groups.Items {
			k.addGroup(&groups.Items[i])
		}
		return nil, nil
	}
	var plain struct {
		metav1.APIVersions
		Groups []metav1.APIGroup `json:"groups"`
	}
	if err := decodeAnswer(answer, &plain); err != nil {
		return nil, err
	}
	for _, v := range plain.Versions {
		open = append(open, schema.GroupVersion{Version: v})
	}
	for _, g := range plain.Groups {
		first := len(open) // the version that the group prefers comes before the others
		for _, v := range g.Versions {
			version := schema.GroupVersion{Group: g.Name, Version: v.Version}
			if v.Version == g.PreferredVersion.Version {
				open = slices.Insert(open, first, version)
			} else {
				open = append(open, version)
			}
		}
	}
	return open, nil
}

func isAggregated(contentType string) bool {
	is, params, err := mime.ParseMediaType(contentType)
	_, want, _ := mime.ParseMediaType(acceptAggregated)
	maps.DeleteFunc(params, func(name, _ string) bool { return want[name] == "" })
	return err == nil && is == "application/json" && maps.Equal(params, want)
}

// addGroup adds one group. The group's first version that is not stale is the preferred one.
func (k *Kinds) addGroup(g *apidiscoveryv2.APIGroupDiscovery) {
	for _, v := range g.Versions {
		of := schema.GroupVersion{Group: g.Name, Version: v.Version}
		if v.Freshness == apidiscoveryv2.DiscoveryFreshnessStale {
			k.Unanswered[of] = fmt.Errorf("stale GroupVersion discovery: %v", of)
			continue
		}
		list := &metav1.APIResourceList{GroupVersion: of.String()}
		for _, r := range v.Resources {
			resource := metav1.APIResource{
				Name:         r.Resource,
				SingularName: r.SingularResource,
				Namespaced:   r.Scope == apidiscoveryv2.ScopeNamespace,
				Verbs:        r.Verbs,
				ShortNames:   r.ShortNames,
				Categories:   r.Categories,
			}
			list.APIResources = append(list.APIResources, resourceWithKind(resource, r.ResponseKind)...)
			for _, sub := range r.Subresources {
				part := metav1.APIResource{
					Name:         r.Resource + "/" + sub.Subresource,
					SingularName: resource.SingularName,
					Namespaced:   resource.Namespaced,
					Verbs:        sub.Verbs,
				}
				list.APIResources = append(list.APIResources, resourceWithKind(part, sub.ResponseKind)...)
			}
		}
		k.ResourceLists = append(k.ResourceLists, list)
	}
}

// resourceWithKind returns a resource with its kind, or none if the server does not name a kind.
func resourceWithKind(r metav1.APIResource, kind *metav1.GroupVersionKind) []metav1.APIResource {
	if kind == nil || *kind == (metav1.GroupVersionKind{}) {
		return nil
	}
	r.Group, r.Version, r.Kind = kind.Group, kind.Version, kind.Kind
	return []metav1.APIResource{r}
}

// fetchResourceLists requests the resources of all versions concurrently.
func (c *Client) fetchResourceLists(
	ctx context.Context,
	versions []schema.GroupVersion,
	silent map[schema.GroupVersion]error,
) []*metav1.APIResourceList {
	lists := make([]*metav1.APIResourceList, len(versions))
	var mu sync.Mutex
	var running sync.WaitGroup
	for i, v := range versions {
		running.Go(func() {
			list, err := c.ServerResources(ctx, v)
			switch {
			case err == nil, v.Group == "" && apierrors.IsNotFound(err):
				lists[i] = list
			default:
				mu.Lock()
				defer mu.Unlock()
				silent[v] = err
			}
		})
	}
	running.Wait()
	return slices.DeleteFunc(lists, func(l *metav1.APIResourceList) bool { return l == nil })
}
