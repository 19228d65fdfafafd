package retry

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transport makes an answer with a Retry-After header end the attempt, as an
// API error that carries the delay. Kubernetes' client would otherwise wait
// and repeat the request by itself, up to ten times and unseen, until the
// attempt's time is over. It is meant for rest.Config's Wrap.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	busy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	seconds, malformed := strconv.Atoi(response.Header.Get("Retry-After"))
	if !busy || malformed != nil || seconds < 0 {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	_ = response.Body.Close()
	reason := metav1.StatusReasonServiceUnavailable
	if response.StatusCode == http.StatusTooManyRequests {
		reason = metav1.StatusReasonTooManyRequests
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(response.StatusCode), Reason: reason,
		Message: fmt.Sprintf("the server is busy (%s) and asks to come back in %d s", response.Status, seconds),
		Details: &metav1.StatusDetails{RetryAfterSeconds: int32(min(seconds, 1<<20))},
	}}
}
