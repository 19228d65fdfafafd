package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Age is how much longer ago everything about an object is to be.
type Age func(kind, name string) time.Duration

// Past is the cluster as it would be had some of its objects been as they are
// for longer: a proxy in front of the API server that moves every time in these
// objects back. What is written through it is written as it is.
type Past struct {
	// Kubeconfig leads to the proxy.
	Kubeconfig string
	server     *httptest.Server
}

// StartPast starts such a proxy; [Past.Close] ends it.
func (l *Lab) StartPast(name string, age Age) (*Past, error) {
	transport, err := rest.TransportFor(l.Config())
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	target, err := url.Parse(l.Config().Host)
	if err != nil {
		return nil, fmt.Errorf("the API server's address: %w", err)
	}
	p := &Past{server: httptest.NewServer(&httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
			if strings.Contains(r.Out.Header.Get("Accept"), "protobuf") {
				r.Out.Header.Set("Accept", "application/json")
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || r.StatusCode >= http.StatusMultipleChoices {
				return nil
			}
			if r.Request.URL.Query().Get("watch") != "" {
				r.Body = ageEvents(r.Body, age)
				return nil
			}
			return ageAnswer(r, age)
		},
	})}
	p.Kubeconfig, err = l.plane.KubeconfigFor(&rest.Config{Host: p.server.URL}, name+".kubeconfig")
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the proxy and what is open through it.
func (p *Past) Close() error {
	p.server.CloseClientConnections()
	p.server.Close()
	return nil
}

func ageAnswer(r *http.Response, age Age) error {
	data, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	var document map[string]any
	if json.Unmarshal(data, &document) == nil {
		if data, err = json.Marshal(ageDocument(document, age)); err != nil {
			return err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.ContentLength = int64(len(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return nil
}

// ageEvents passes a watch on, event by event.
func ageEvents(body io.ReadCloser, age Age) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		decoder, encoder := json.NewDecoder(body), json.NewEncoder(in)
		for {
			var event map[string]any
			err := decoder.Decode(&event)
			if err == nil {
				if object, ok := event["object"].(map[string]any); ok {
					event["object"] = ageDocument(object, age)
				}
				err = encoder.Encode(event)
			}
			if err != nil {
				_ = in.CloseWithError(errors.Join(err, body.Close()))
				return
			}
		}
	}()
	return out
}

// ageDocument is an object or a list of them. The kind of a list's objects is
// the list's.
func ageDocument(document map[string]any, age Age) any {
	kind, _ := document["kind"].(string)
	items, isList := document["items"].([]any)
	if !isList {
		return ageObject(document, kind, age)
	}
	for i, item := range items {
		if object, ok := item.(map[string]any); ok {
			items[i] = ageObject(object, strings.TrimSuffix(kind, "List"), age)
		}
	}
	return document
}

func ageObject(object map[string]any, kind string, age Age) any {
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if by := age(kind, name); by != 0 {
		return moveBack(object, by)
	}
	return object
}

// moveBack moves every time in a value back.
func moveBack(value any, by time.Duration) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = moveBack(v[key], by)
		}
	case []any:
		for i := range v {
			v[i] = moveBack(v[i], by)
		}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Add(-by).UTC().Format(time.RFC3339)
		}
	}
	return value
}
