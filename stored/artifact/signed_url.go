package artifact

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
)

// redacted stands where a secret was.
const redacted = "REDACTED"

// minSecret is how long a value of the query must be to be looked for in texts:
// shorter ones (a version, a number of seconds) are no secrets, and are parts
// of ordinary words.
const minSecret = 8

// maxURL is longer than any signed URL.
const maxURL = 16 << 10

// signedURL is a URL by which anyone can read an object until it expires. It
// prints without what makes it a secret.
type signedURL struct {
	url *url.URL
	// expires is in our own clock; zero if unknown.
	expires time.Time
}

// parseSigned takes a URL from a DownloadRequest. Its errors say nothing of
// what it holds.
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

// address is the host and port to connect to, in lower case.
func (s signedURL) address() string { return addressOf(s.url) }

func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(plainHost(u.Hostname()), port)
}

// plainHost is a host name as hosts are compared.
func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func (s signedURL) expired(now time.Time) bool {
	return !s.expires.IsZero() && now.After(s.expires)
}

// anyQuery is the query of any URL in a text: not only ours is a secret.
var anyQuery = regexp.MustCompile(`(https?://[^\s"'<>?]*)\?[^\s"'<>]*`)

// scrub removes every secret from a text that others wrote, and makes it
// harmless to show.
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

// redact returns err without the secrets in its text. An error that holds a
// URL, or whose text had to be changed, can afterwards be compared but no
// longer unwrapped.
func (s signedURL) redact(err error) error {
	if err == nil {
		return nil
	}
	var holder *url.Error
	text := s.scrub(err.Error())
	if text == err.Error() && !errors.As(err, &holder) {
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
