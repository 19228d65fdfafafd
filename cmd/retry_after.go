package cmd

import (
	"net/http"
	"strconv"
)

// maxRetryAfter is how many seconds an API server may make a client wait
// before it is asked again. The client library asks ten times, and would wait
// for years if the server said so.
const maxRetryAfter = 5

// capRetryAfter shortens what an API server asks for with Retry-After.
func capRetryAfter(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if after := response.Header.Get("Retry-After"); after != "" {
			if seconds, err := strconv.Atoi(after); err != nil || seconds > maxRetryAfter {
				response.Header.Set("Retry-After", strconv.Itoa(maxRetryAfter))
			}
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
