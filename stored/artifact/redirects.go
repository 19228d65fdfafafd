package artifact

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
)

// maxHops is how many redirects, all to the same host, are followed.
const maxHops = 3

// follow gets what a signed URL leads to. Nothing that it returns holds the
// URL's query.
func (f *Fetcher) follow(ctx context.Context, w *storeLocation, signed signedURL, most int64, ranged string) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Stream{
		cause:   func() error { return context.Cause(ctx) },
		cancel:  cancel,
		signed:  signed,
		most:    most,
		idleFor: f.limits.Idle,
	}
	s.total = time.AfterFunc(f.limits.Total, func() {
		cancel(fmt.Errorf("%w: not complete after %s", ErrStalled, f.limits.Total))
	})
	s.idle = time.AfterFunc(f.limits.Idle, func() {
		cancel(fmt.Errorf("%w: nothing arrived for %s", ErrStalled, f.limits.Idle))
	})
	err := f.connect(ctx, s, w, signed, ranged)
	if err != nil {
		s.end(nil)
		return nil, signed.redact(err)
	}
	s.idle.Stop()
	return s, nil
}

// connect sends the request, and again where a redirect leads, and takes the
// response into s.
func (f *Fetcher) connect(ctx context.Context, s *Stream, w *storeLocation, signed signedURL, ranged string) error {
	for hop := 0; ; hop++ {
		p, err := f.plan(ctx, w, signed)
		if err != nil {
			return err
		}
		response, err := f.send(ctx, p, signed, ranged)
		if err != nil {
			if context.Cause(ctx) != nil {
				return context.Cause(ctx)
			}
			return w.explainDial(signed, err)
		}
		next, err := redirect(signed, response)
		if err == nil && next == nil {
			err = s.take(response, ranged != "")
			s.route = p.route
			if err == nil {
				f.log.Info("download begins", "host", p.route.Host, "via", p.route.Via, "bytes", s.size)
			}
		}
		if err != nil || next == nil {
			if err != nil {
				_ = response.Body.Close()
			}
			return err
		}
		_ = response.Body.Close()
		if hop == maxHops {
			return fmt.Errorf("%w: it was redirected %d times", ErrUnsafe, hop)
		}
		signed.url = next
	}
}

// send makes one request on a connection of its own. The transport is used
// without a client around it: that would follow redirects, and put the URL into
// its errors.
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
		Header: http.Header{"User-Agent": {f.agent}, "Accept-Encoding": {"identity"}},
	}).WithContext(ctx)
	if ranged != "" {
		request.Header.Set("Range", ranged)
	}
	return transport.RoundTrip(request)
}

// redirect is where a response leads, or nil if it does not: to the same
// address by the same scheme, or nowhere.
func redirect(signed signedURL, response *http.Response) (*url.URL, error) {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	to, err := url.Parse(response.Header.Get("Location"))
	if err != nil || to.String() == "" {
		return nil, fmt.Errorf("%w: the object store answers %d without a location", ErrUnsafe, response.StatusCode)
	}
	to = signed.url.ResolveReference(to)
	if to.Scheme != signed.url.Scheme || to.User != nil || addressOf(to) != signed.address() {
		return nil, fmt.Errorf("%w: the object store redirects to a different host, %s", ErrUnsafe, sanitize.String(to.Scheme+"://"+to.Host))
	}
	to.Host = signed.url.Host
	return to, nil
}

// errExpired: the URL was good once.
var errExpired = errors.New("the download URL has expired")
