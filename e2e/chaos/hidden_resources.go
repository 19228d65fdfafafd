package main

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// hideableResources are the resources that a person may lack the right to read, by the names that
// RBAC has for them.
var hideableResources = []string{
	"pods",
	"pods/log",
	"nodes",
	"daemonsets",
	"deployments",
	"configmaps",
	"customresourcedefinitions",
	"backupstoragelocations",
	"backuprepositories",
	"deletebackuprequests",
	"podvolumebackups",
	"datauploads",
	"datadownloads",
}

// resourceOf is the resource of a kind.
func resourceOf(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.Resource
}

// hideResource answers requests for a resource as an API server does whose RBAC does not allow
// them, and passes all others on.
func hideResource(resource string, next http.Handler) http.Handler {
	if resource == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requestedResource(r.URL.Path) != resource {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(
			[]byte(
				`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Forbidden","code":403,` +
					`"message":"` + resource + ` is forbidden: the story hides it"}`,
			),
		)
	})
}

// requestedResource is the resource, with its subresource, of a path of the API.
func requestedResource(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	version := 2 // api/v1
	if parts[0] == "apis" {
		version = 3 // apis/GROUP/VERSION
	}
	if len(parts) <= version {
		return ""
	}
	parts = parts[version:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}
