package retry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class tells what can be done about an error.
type Class int

const (
	Permanent Class = iota // the same request would get the same answer
	Retriable              // a later attempt may succeed
	// Unauthorized means that the API server rejects the credentials; new ones may help once.
	Unauthorized
	// Conflict means that the object is not as the request expects it. The caller must read the object again before it
	// decides.
	Conflict
)

// Classify returns the class of an error of a request to the API server. It does not know whether the caller's own
// context has ended; the caller must check that.
func Classify(err error) Class {
	if err == nil || errors.Is(err, context.Canceled) {
		return Permanent
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return classifyStatus(err, int(status.Status().Code))
	}
	if errors.Is(err, context.DeadlineExceeded) || isTransportError(err) || isLeaderChangeError(err) {
		return Retriable
	}
	return Permanent
}

func classifyStatus(err error, code int) Class {
	switch {
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case apierrors.IsConflict(err):
		return Conflict
	case apierrors.IsTooManyRequests(err),
		apierrors.IsServerTimeout(err),
		apierrors.IsTimeout(err),
		code == http.StatusRequestTimeout,
		isLeaderChangeError(err):
		return Retriable
	case code == http.StatusNotImplemented:
		return Permanent
	case code >= http.StatusInternalServerError:
		return Retriable
	}
	return Permanent
}

// isTransportError reports whether an error comes from the connection to the server rather than from our own program,
// such as an object that cannot be encoded.
func isTransportError(err error) bool {
	var (
		network     net.Error
		operation   *net.OpError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
	)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed), errors.As(err, &operation):
		return true
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &certificate), errors.As(err, &authority):
		return true // the server's certificate may be being renewed
	case errors.As(err, &network) && network.Timeout():
		return true
	}
	// net/http has no types for these errors.
	text := err.Error()
	for _, sign := range []string{"http2: client connection lost", "http2: server sent GOAWAY",
		"http2: client conn not usable", "http: server closed idle connection", "TLS handshake timeout",
		"connection refused", "connection reset by peer", "transport connection broken"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// isLeaderChangeError reports whether an error comes from an etcd that changes its leader. The API server passes such
// errors on as text.
func isLeaderChangeError(err error) bool {
	text := err.Error()
	for _, sign := range []string{"etcdserver: leader changed", "etcdserver: no leader",
		"etcdserver: request timed out", "etcdserver: not healthy", "etcdserver: too many requests"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// ProvesRejected reports whether err is an answer which proves that the API server did not carry out the request: a
// Kubernetes Status with a code that excludes a write. A timeout (408) and a server error (5xx) prove nothing, nor
// does an answer that is not a Status, whatever its code: it comes from a proxy in between, which may have passed the
// request on.
func ProvesRejected(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return false
	}
	return slices.Contains(rejectingCodes, int(status.Status().Code))
}

var rejectingCodes = []int{
	http.StatusBadRequest,
	http.StatusUnauthorized,
	http.StatusForbidden,
	http.StatusNotFound,
	http.StatusMethodNotAllowed,
	http.StatusConflict,
	http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType,
	http.StatusUnprocessableEntity,
	http.StatusTooManyRequests,
}

// IsUnsent reports whether err means that no connection to the server was made. A caller that traces connections must
// check that none was used before.
func IsUnsent(err error) bool {
	var operation *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &operation) && operation.Op == "dial" ||
		errors.As(err, &certificate) ||
		// client-go reports a failed credential plugin this way
		err != nil && strings.Contains(err.Error(), "getting credentials: ")
}

// MaxRetryAfter is the longest Retry-After that is respected. A server may send one value to everybody, or any value
// at all, and must not keep us away for long after it is back.
const MaxRetryAfter = 5 * time.Second

func retryAfter(err error) time.Duration {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return 0
	}
	return min(time.Duration(max(0, status.Status().Details.RetryAfterSeconds))*time.Second, MaxRetryAfter)
}
