package session

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/sanitize"
)

// Identity tells one cluster from another.
type Identity struct {
	// Server is the API server's URL with its path, without credentials.
	Server string `json:"server"`
	// TLSServerName is the name that its certificate must have, empty for the URL's.
	TLSServerName string `json:"tlsServerName,omitempty"`
	// CAFingerprint is a fingerprint of what its certificate is checked with: "sha256:" and a
	// sum, "system" for the system's authorities, "none" where nothing is checked.
	CAFingerprint string `json:"certificateAuthority"`
	// Proxy is the proxy that the kubeconfig names, without credentials.
	Proxy string `json:"proxy,omitempty"`
	// UID is that of namespace kube-system, which no two clusters share but copies of one. It is empty
	// where it could not be read, for the reason in UIDUnavailable, and before [Session.Identify].
	UID            types.UID `json:"uid,omitempty"`
	UIDUnavailable string    `json:"uidUnavailable,omitempty"`
}

// IsIdentified reports whether the cluster was asked for its UID. The UID is empty if it may not be read.
func (i Identity) IsIdentified() bool { return i.UID != "" || i.UIDUnavailable != "" }

func (i Identity) Host() string {
	u, err := url.Parse(i.Server)
	if err != nil {
		return i.Server
	}
	return u.Host
}

func (i Identity) String() string {
	switch {
	case i.UID != "":
		return sanitize.String(fmt.Sprintf("%s (uid %s)", i.Server, i.UID))
	case i.UIDUnavailable != "":
		return sanitize.String(
			fmt.Sprintf("%s (known by its URL and certificate authority only: %s)", i.Server, i.UIDUnavailable),
		)
	}
	return sanitize.String(i.Server)
}

func IsSameServer(a, b string) bool {
	first, err := url.Parse(a)
	second, err2 := url.Parse(b)
	return err == nil && err2 == nil && normalizeURL(first) == normalizeURL(second)
}

// Difference describes how another identity, or the way to its cluster, differs; empty if it does not. A uid that
// only one of the two has is no difference.
func (i Identity) Difference(other Identity) string {
	for _, d := range []struct{ what, was, is string }{
		{"its server", i.Server, other.Server},
		{"its TLS server name", i.TLSServerName, other.TLSServerName},
		{"its certificate authority", i.CAFingerprint, other.CAFingerprint},
		{"its proxy", i.Proxy, other.Proxy},
	} {
		if d.was != d.is {
			return fmt.Sprintf("%s was %s and is %s", d.what, cmp.Or(d.was, "none"), cmp.Or(d.is, "none"))
		}
	}
	if i.UID != "" && other.UID != "" && i.UID != other.UID {
		return fmt.Sprintf("the uid of its namespace kube-system was %s and is %s", i.UID, other.UID)
	}
	return ""
}

// pinConfig returns a copy that is pinned to its cluster: it holds the content of the CA file.
func pinConfig(config *rest.Config) (*rest.Config, Identity, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, Identity{}, fmt.Errorf("reading the server's URL: %w", err)
	}
	config = rest.CopyConfig(config)
	authority := &config.TLSClientConfig
	if len(authority.CAData) == 0 && authority.CAFile != "" {
		if authority.CAData, err = os.ReadFile(authority.CAFile); err != nil {
			return nil, Identity{}, fmt.Errorf("reading the certificate authority: %w", err)
		}
	}
	authority.CAFile = ""
	id := Identity{Server: normalizeURL(server), TLSServerName: authority.ServerName, CAFingerprint: "system"}
	switch {
	case authority.Insecure:
		id.CAFingerprint = "none"
	case len(authority.CAData) > 0:
		id.CAFingerprint = certFingerprint(authority.CAData)
	}
	if config.Proxy != nil {
		proxy, err := config.Proxy(&http.Request{URL: server})
		if err != nil {
			return nil, Identity{}, fmt.Errorf("reading the proxy's URL: %w", err)
		}
		if proxy != nil {
			id.Proxy = normalizeURL(proxy)
		}
	}
	return config, id, nil
}

// normalizeURL returns a normalized URL: no credentials, host in lower case with its port, no trailing slash.
func normalizeURL(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/")
}

// certFingerprint returns the fingerprint of a bundle of certificates. Their order and any text between them do not
// matter.
func certFingerprint(bundle []byte) string {
	var certificates [][]byte
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificates = append(certificates, block.Bytes)
	}
	if len(certificates) == 0 {
		return fmt.Sprintf("sha256:%x", sha256.Sum256(bundle))
	}
	slices.SortFunc(certificates, bytes.Compare)
	certificates = slices.CompactFunc(certificates, bytes.Equal)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.Join(certificates, nil)))
}

// CacheKey returns a key that distinguishes clusters for files on disk, without a request: the address and the
// certificate authorities, which differ after a local cluster is recreated.
func CacheKey(config *rest.Config) string {
	authorities := config.CAData
	if len(authorities) == 0 && config.CAFile != "" {
		authorities, _ = os.ReadFile(config.CAFile) // an unreadable file is reported elsewhere
	}
	return fmt.Sprintf("%s\n%s\n%s\n%x", config.Host, config.APIPath, config.ServerName, sha256.Sum256(authorities))
}
