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

	"github.com/veltui/veltui/internal/sanitize"
)

// redacted stands where a secret was.
const redacted = "REDACTED"

// minSecret is how long a value of the query must be to be a secret: shorter ones are parts of ordinary words.
const minSecret = 8

// maxURL is longer than any signed URL.
const maxURL = 16 << 10

// signedURL is a URL by which anyone can read an object until it expires. It prints without what makes it a secret.
type signedURL struct {
	url *url.URL
	// expires is in our own clock; zero if unknown.
	expires time.Time
}

// parseSigned takes a URL from a DownloadRequest. Its errors do not quote it.
func parseSigned(raw string) (signedURL, error) {
	if len(raw) > maxURL {
		return signedURL{}, fmt.Errorf("%w: it has %d bytes", ErrUnsafe, len(raw))
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return signedURL{}, fmt.Errorf("%w: it is malformed", ErrUnsafe)
	case u.Scheme != "http" && u.Scheme != "https":
		return signedURL{}, fmt.Errorf("%w: its scheme is %q, not http or https", ErrUnsafe, sanitize.Cut(u.Scheme, 20))
	case u.User != nil:
		return signedURL{}, fmt.Errorf("%w: it contains a user name", ErrUnsafe)
	case u.Hostname() == "" || u.Opaque != "":
		return signedURL{}, fmt.Errorf("%w: it has no host", ErrUnsafe)
	}
	u.Fragment, u.RawFragment = "", ""
	return signedURL{url: u}, nil
}

// String is the URL without its query.
func (s signedURL) String() string {
	if s.url == nil {
		return ""
	}
	return sanitize.String(s.url.Scheme + "://" + s.url.Host + s.url.EscapedPath() + "?" + redacted)
}

// GoString keeps %#v from printing what String hides.
func (s signedURL) GoString() string { return s.String() }

// addressOf is the host and port to connect to, in lower case.
func addressOf(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return net.JoinHostPort(plainHost(u.Hostname()), cmp.Or(u.Port(), usual))
}

// plainHost is a host name as hosts are compared.
func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// anyQuery is the query of any URL in a text: not only ours is a secret.
var anyQuery = regexp.MustCompile(`(https?://[^\s"'<>?]*)\?[^\s"'<>]*`)

// scrub removes every secret from a text that others wrote, and makes it harmless.
func (s signedURL) scrub(text string) string {
	text = anyQuery.ReplaceAllString(text, "${1}?"+redacted)
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return sanitize.String(text)
}

// secrets are the query, as it is and unescaped, and its longer values.
func (s signedURL) secrets() []string {
	if s.url == nil || s.url.RawQuery == "" {
		return nil
	}
	found := []string{s.url.RawQuery}
	add := func(text string) {
		if len(text) >= minSecret {
			found = append(found, text)
		}
		if plain, err := url.QueryUnescape(text); err == nil && plain != text && len(plain) >= minSecret {
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

// redact returns err without secrets in its text. If that changes it, or it holds a URL, it can no longer be unwrapped.
func (s signedURL) redact(err error) error {
	text := s.scrub(err.Error())
	if _, holdsURL := errors.AsType[*url.Error](err); text == err.Error() && !holdsURL {
		return err
	}
	return &redactedError{text, err}
}

// redactedError is an error that tells what it was but not what it held.
type redactedError struct {
	text  string
	cause error
}

func (h *redactedError) Error() string        { return h.text }
func (h *redactedError) GoString() string     { return h.text }
func (h *redactedError) Is(target error) bool { return errors.Is(h.cause, target) }

// maxHops is how many redirects, all to the same host, are followed.
const maxHops = 3

// follow gets what a signed URL leads to. Nothing that it returns holds the URL's query.
func (f *Fetcher) follow(
	ctx context.Context,
	w *storeLocation,
	signed signedURL,
	most int64,
	ranged string,
) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	cause := func() error { return context.Cause(ctx) }
	s := &Stream{cause: cause, cancel: cancel, signed: signed, most: most, idleFor: f.options.Limits.Idle}
	s.total = time.AfterFunc(f.options.Limits.Total, func() {
		cancel(fmt.Errorf("%w: not complete after %s", ErrStalled, f.options.Limits.Total))
	})
	s.idle = time.AfterFunc(f.options.Limits.Idle, func() {
		cancel(fmt.Errorf("%w: nothing arrived for %s", ErrStalled, f.options.Limits.Idle))
	})
	if err := f.connect(ctx, s, w, signed, ranged); err != nil {
		s.end(nil)
		return nil, signed.redact(err)
	}
	s.idle.Stop()
	return s, nil
}

// connect sends the request, again after a redirect, and takes the response into s.
func (f *Fetcher) connect(ctx context.Context, s *Stream, w *storeLocation, signed signedURL, ranged string) error {
	for range 1 + maxHops {
		p, err := f.plan(ctx, w, signed)
		if err != nil {
			return err
		}
		response, err := f.send(ctx, p, signed, ranged)
		switch {
		case err != nil && context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			return w.explainDial(signed, err)
		}
		next, err := redirect(signed, response)
		if err == nil && next == nil {
			s.route = p.route
			if err = s.take(response, ranged != ""); err == nil {
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
	return fmt.Errorf("%w: it was redirected %d times", ErrUnsafe, maxHops)
}

// send makes one request on its own connection: an http.Client would follow redirects, and put the URL into its errors.
func (f *Fetcher) send(ctx context.Context, p *path, signed signedURL, ranged string) (*http.Response, error) {
	roots, err := f.roots(p.w)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:         p.dial,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 30 * time.Second,
		// What is stored is wanted as it is stored.
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

// redirect is where a response leads, nil if it does not: to the same address by the same scheme, or nowhere.
func redirect(signed signedURL, response *http.Response) (*url.URL, error) {
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
		return nil, fmt.Errorf("%w: the object store answers %d without a location", ErrUnsafe, response.StatusCode)
	}
	to = signed.url.ResolveReference(to)
	if to.Scheme != signed.url.Scheme || to.User != nil || addressOf(to) != addressOf(signed.url) {
		return nil, fmt.Errorf(
			"%w: the object store redirects to a different host, %s",
			ErrUnsafe,
			sanitize.String(to.Scheme+"://"+to.Host),
		)
	}
	to.Host = signed.url.Host
	return to, nil
}
