package action

import "net/http"

type exchangeKey struct{}

type exchangeRecorder struct{ next http.RoundTripper }

func (t exchangeRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if r, ok := request.Context().Value(exchangeKey{}).(*reply); ok {
		r.host = request.URL.Host
		if response != nil {
			r.code = response.StatusCode
		}
	}
	return response, err
}

// WrappedRoundTripper lets client-go cancel requests.
func (t exchangeRecorder) WrappedRoundTripper() http.RoundTripper { return t.next }
