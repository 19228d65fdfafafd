package cmd

import (
	"net/http"
	"testing"
)

// An API server must not make veltui wait for years.
func TestRetryAfterIsBounded(t *testing.T) {
	for sent, want := range map[string]string{"": "", "1": "1", "5": "5", "6": "5", "99999999999999999999": "5", "Fri, 31 Dec 9999 23:59:59 GMT": "5", "-1": "-1"} {
		through := capRetryAfter(roundTripper(func(*http.Request) (*http.Response, error) {
			h := http.Header{}
			if sent != "" {
				h.Set("Retry-After", sent)
			}
			return &http.Response{StatusCode: http.StatusTooManyRequests, Header: h}, nil
		}))
		response, err := through.RoundTrip(&http.Request{})
		if err != nil || response.Header.Get("Retry-After") != want {
			t.Errorf("%q became %q, %v", sent, response.Header.Get("Retry-After"), err)
		}
	}
}
