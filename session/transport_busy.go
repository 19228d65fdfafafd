package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/retry"
)

// capRetryAfter shortens the delay that a busy server asks for: Kubernetes' client repeats a
// request ten times. It removes what is no delay, so that the client does not repeat.
func capRetryAfter(response *http.Response) {
	if response.Header.Get("Retry-After") == "" {
		return
	}
	delay, ok := retryAfter(response)
	if !ok {
		response.Header.Del("Retry-After")
		return
	}
	delay = min(max(delay, time.Second), retry.MaxRetryAfter)
	response.Header.Set("Retry-After", strconv.Itoa(int(delay/time.Second)))
}

// retryAfter reads the header: seconds, or a date by the server's own clock (RFC 9110,
// 10.2.3). It is false for a delay below zero and for anything else.
func retryAfter(response *http.Response) (time.Duration, bool) {
	text := response.Header.Get("Retry-After")
	if date, err := http.ParseTime(text); err == nil {
		now, err := http.ParseTime(response.Header.Get("Date"))
		if err != nil {
			return 0, false
		}
		return max(0, date.Sub(now)), true
	}
	seconds, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err == nil:
		return time.Duration(min(seconds, uint64(retry.MaxRetryAfter/time.Second))) * time.Second, true
	case errors.Is(err, strconv.ErrRange):
		return retry.MaxRetryAfter, true
	}
	return 0, false
}

// busy returns an error for an answer that asks to come back. One that is no Status is marked as
// client-go marks it (apierrors.IsUnexpectedServerError): the server may have acted.
func busy(request *http.Request, response *http.Response, text []byte) error {
	asked := response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	delay, ok := retryAfter(response)
	if !asked || !ok {
		return nil
	}
	seconds := int32(delay / time.Second)
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Kind == "Status" && int(status.Code) == response.StatusCode {
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		status.Details.RetryAfterSeconds = seconds
		return &apierrors.StatusError{ErrStatus: status}
	}
	err := apierrors.NewGenericServerResponse(response.StatusCode, request.Method, schema.GroupResource{}, "", "", int(seconds), true)
	err.ErrStatus.Message = fmt.Sprintf("the server is busy (%d %s) and asks to come back in %d s", response.StatusCode, http.StatusText(response.StatusCode), seconds)
	return err
}
