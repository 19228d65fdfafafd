package artifact

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/filetype"
	"github.com/veltui/veltui/internal/sanitize"
)

// redacted replaces a secret.
const redacted = "REDACTED"

// minSecretLength is the least length of a query value that is a secret: shorter values occur in ordinary words.
const minSecretLength = 8

// maxURLLength is longer than any signed URL.
const maxURLLength = 16 << 10

// signedURL is a URL by which anyone can read an object until it expires. It prints without its secret parts.
type signedURL struct {
	url *url.URL
	// expires is when it expires, by our own clock; zero if unknown.
	expires time.Time
}

// parseSignedURL parses a URL from a DownloadRequest. Its errors do not quote the URL.
func parseSignedURL(raw string) (signedURL, error) {
	if len(raw) > maxURLLength {
		return signedURL{}, fmt.Errorf("%w: it has %d bytes", ErrUnsafeURL, len(raw))
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return signedURL{}, fmt.Errorf("%w: it is malformed", ErrUnsafeURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return signedURL{}, fmt.Errorf(
			"%w: its scheme is %q, not http or https",
			ErrUnsafeURL,
			sanitize.Truncate(u.Scheme, 20),
		)
	case u.User != nil:
		return signedURL{}, fmt.Errorf("%w: it contains a user name", ErrUnsafeURL)
	case u.Hostname() == "" || u.Opaque != "":
		return signedURL{}, fmt.Errorf("%w: it has no host", ErrUnsafeURL)
	}
	u.Fragment, u.RawFragment = "", ""
	return signedURL{url: u}, nil
}

// String returns the URL without its query.
func (s signedURL) String() string {
	if s.url == nil {
		return ""
	}
	return sanitize.String(s.url.Scheme + "://" + s.url.Host + s.url.EscapedPath() + "?" + redacted)
}

// GoString keeps %#v from printing what String hides.
func (s signedURL) GoString() string { return s.String() }

// addressOf returns the host and port to connect to, in lower case.
func addressOf(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return net.JoinHostPort(canonicalHost(u.Hostname()), cmp.Or(u.Port(), usual))
}

// canonicalHost returns a host name in the form in which hosts are compared.
func canonicalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// anyQuery matches the query of any URL in a text: other URLs have secrets, too.
var anyQuery = regexp.MustCompile(`(https?://[^\s"'<>?]*)\?[^\s"'<>]*`)

// redactText removes every secret from a text that others wrote, and sanitizes it.
func (s signedURL) redactText(text string) string {
	text = anyQuery.ReplaceAllString(text, "${1}?"+redacted)
	for _, secret := range s.findSecrets() {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return sanitize.String(text)
}

// redactType removes every secret from what an answer says of itself.
func (s signedURL) redactType(t filetype.Type) filetype.Type {
	t.Title, t.Code, t.Message = s.redactText(t.Title), s.redactText(t.Code), s.redactText(t.Message)
	return t
}

// findSecrets returns the query, as it is and unescaped, and its longer values.
func (s signedURL) findSecrets() []string {
	if s.url == nil || s.url.RawQuery == "" {
		return nil
	}
	found := []string{s.url.RawQuery}
	add := func(text string) {
		if len(text) >= minSecretLength {
			found = append(found, text)
		}
		if plain, err := url.QueryUnescape(text); err == nil && plain != text && len(plain) >= minSecretLength {
			found = append(found, plain, url.QueryEscape(plain), url.PathEscape(plain))
		}
	}
	add(s.url.RawQuery)
	for pair := range strings.SplitSeq(s.url.RawQuery, "&") {
		_, value, named := strings.Cut(pair, "=")
		if !named {
			value = pair
		}
		add(value)
	}
	return found
}

// redactError returns err without secrets in its text. If that changes the text, or if err holds a URL, the result
// cannot be unwrapped.
func (s signedURL) redactError(err error) error {
	text := s.redactText(err.Error())
	if _, holdsURL := errors.AsType[*url.Error](err); text == err.Error() && !holdsURL {
		return err
	}
	return &redactedError{text, err}
}

// redactedError is an error that tells its kind but not its contents.
type redactedError struct {
	text  string
	cause error
}

func (h *redactedError) Error() string        { return h.text }
func (h *redactedError) GoString() string     { return h.text }
func (h *redactedError) Is(target error) bool { return errors.Is(h.cause, target) }

// maxHops is how many redirects, all to the same host, are followed.
const maxHops = 3

// followURL requests what a signed URL leads to. Nothing that it returns holds the URL's query.
func (f *Fetcher) followURL(
	ctx context.Context,
	w *storeLocation,
	signed signedURL,
	most int64,
	ranged string,
) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	cause := func() error { return context.Cause(ctx) }
	s := &Stream{cause: cause, cancel: cancel, signed: signed, maxBytes: most, idleTimeout: f.options.Limits.IdleTimeout}
	s.totalTimer = time.AfterFunc(f.options.Limits.TotalTimeout, func() {
		cancel(fmt.Errorf("%w: not complete after %s", ErrStalled, f.options.Limits.TotalTimeout))
	})
	s.idleTimer = time.AfterFunc(f.options.Limits.IdleTimeout, func() {
		cancel(fmt.Errorf("%w: nothing arrived for %s", ErrStalled, f.options.Limits.IdleTimeout))
	})
	if err := f.connectStream(ctx, s, w, signed, ranged); err != nil {
		s.endDownload(nil)
		return nil, signed.redactError(err)
	}
	s.idleTimer.Stop()
	return s, nil
}

// connectStream sends the request, again after a redirect, and puts the response into s.
func (f *Fetcher) connectStream(
	ctx context.Context,
	s *Stream,
	w *storeLocation,
	signed signedURL,
	ranged string,
) error {
	for range 1 + maxHops {
		p, err := f.planPath(ctx, w, signed)
		if err != nil {
			return err
		}
		response, err := f.sendRequest(ctx, p, signed, ranged)
		switch {
		case err != nil && context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			return w.explainDial(signed, err)
		}
		next, err := redirectTarget(signed, response)
		if err == nil && next == nil {
			s.route = p.route
			if err = s.acceptResponse(response, ranged != ""); err == nil {
				f.options.Log.Info("download begins", "host", p.route.Host, "via", p.route.Via, "bytes", s.size)
				return nil
			}
		}
		_ = response.Body.Close()
		if err != nil {
			return err
		}
		signed.url = next
	}
	return fmt.Errorf("%w: it was redirected %d times", ErrUnsafeURL, maxHops)
}

// sendRequest makes one request on its own connection: an http.Client would follow redirects, and put the URL into
// its errors.
func (f *Fetcher) sendRequest(
	ctx context.Context,
	p *storePath,
	signed signedURL,
	ranged string,
) (*http.Response, error) {
	roots, err := f.trustedRoots(p.location)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:         p.dialStore,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 30 * time.Second,
		// The artifact is wanted as it is stored.
		DisableCompression:     true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if p.proxy != nil {
		transport.Proxy = http.ProxyURL(p.proxy)
	}
	request := (&http.Request{
		Method: http.MethodGet,
		URL:    signed.url,
		Host:   signed.url.Host,
		Header: http.Header{"User-Agent": {f.options.UserAgent}, "Accept-Encoding": {"identity"}},
	}).WithContext(ctx)
	if ranged != "" {
		request.Header.Set("Range", ranged)
	}
	return transport.RoundTrip(request)
}

// redirectTarget returns where a response redirects to, nil if it does not redirect. Only the same address and scheme
// are allowed.
func redirectTarget(signed signedURL, response *http.Response) (*url.URL, error) {
	switch response.StatusCode {
	case http.StatusMovedPermanently,
		http.StatusFound,
		http.StatusSeeOther,
		http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	to, err := url.Parse(response.Header.Get("Location"))
	if err != nil || to.String() == "" {
		return nil, fmt.Errorf("%w: the object store answers %d without a location", ErrUnsafeURL, response.StatusCode)
	}
	to = signed.url.ResolveReference(to)
	if to.Scheme != signed.url.Scheme || to.User != nil || addressOf(to) != addressOf(signed.url) {
		return nil, fmt.Errorf(
			"%w: the object store redirects to a different host, %s",
			ErrUnsafeURL,
			sanitize.String(to.Scheme+"://"+to.Host),
		)
	}
	to.Host = signed.url.Host
	return to, nil
}
