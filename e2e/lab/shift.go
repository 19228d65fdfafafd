package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// TimeShift is another time to look at the cluster.
type TimeShift struct {
	// AgeOf is how much longer ago everything about an object is to be. Its kind is Log
	// for the logs of pods, and Stored for what is in the object store.
	AgeOf func(kind, name string) time.Duration
}

// ShiftProxy is the real cluster at another time: a proxy in front of the API
// server that moves every time in some of the objects that are read. What is
// written through it, and the answer to that, stays as it is.
type ShiftProxy struct {
	// Kubeconfig leads to the proxy.
	Kubeconfig string
	shift      TimeShift
	stored     string // the object store's URL
	server     *httptest.Server
	requests   atomic.Int64
}

// RequestCount is how many requests have come to the API server this way.
func (p *ShiftProxy) RequestCount() int { return int(p.requests.Load()) }

// StartShiftProxy starts such a proxy; [Shifted.Close] ends it.
func (l *Lab) StartShiftProxy(name string, s TimeShift) (*ShiftProxy, error) {
	transport, err := rest.TransportFor(l.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	target, err := url.Parse(l.RESTConfig().Host)
	if err != nil {
		return nil, fmt.Errorf("the API server's address: %w", err)
	}
	p := &ShiftProxy{shift: s, stored: l.S3URL()}
	cluster := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
			if strings.Contains(r.Out.Header.Get("Accept"), "protobuf") {
				r.Out.Header.Set("Accept", "application/json")
			}
		},
		ModifyResponse: p.modifyResponse,
		ErrorLog:       log.New(io.Discard, "", 0), // clients end watches at any time
	}
	routes := http.NewServeMux()
	routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		cluster.ServeHTTP(w, r)
	})
	routes.Handle(storeProxyPath, http.StripPrefix(strings.TrimSuffix(storeProxyPath, "/"), &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: l.s3.address}) },
		ModifyResponse: p.ageStored,
		ErrorLog:       log.New(io.Discard, "", 0),
	}))
	p.server = httptest.NewServer(routes)
	p.Kubeconfig, err = l.plane.KubeconfigFor(&rest.Config{Host: p.server.URL}, name+".kubeconfig")
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the proxy and what is open through it.
func (p *ShiftProxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

func (p *ShiftProxy) modifyResponse(r *http.Response) error {
	kind := r.Header.Get("Content-Type")
	switch {
	case r.Request.Method != http.MethodGet || r.StatusCode >= http.StatusMultipleChoices:
		return nil
	case strings.HasSuffix(r.Request.URL.Path, "/log"):
		if by := p.shift.AgeOf("Log", ""); by != 0 {
			r.Body = ageLines(r.Body, by)
			r.ContentLength = -1
			r.Header.Del("Content-Length")
		}
		return nil
	case !strings.HasPrefix(kind, "application/json"):
		return nil
	case r.Request.URL.Query().Get("watch") != "":
		r.Body = ageEvents(r.Body, p.ageObject)
		return nil
	}
	return ageAnswer(r, p.ageObject)
}

// storeProxyPath leads to the object store.
const storeProxyPath = "/stored/"

func (p *ShiftProxy) ageStored(r *http.Response) error {
	if at, err := http.ParseTime(r.Header.Get("Last-Modified")); err == nil {
		r.Header.Set("Last-Modified", at.Add(-p.shift.AgeOf("Stored", "")).UTC().Format(http.TimeFormat))
	}
	return nil
}

var timeInLine = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// ageLines passes a log on, line by line.
func ageLines(body io.ReadCloser, by time.Duration) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadBytes('\n')
			line = timeInLine.ReplaceAllFunc(line, func(text []byte) []byte {
				at, err := time.Parse(time.RFC3339Nano, string(text))
				if err != nil {
					return text
				}
				return at.Add(-by).AppendFormat(nil, "2006-01-02T15:04:05.000000000Z")
			})
			if _, writing := in.Write(line); err == nil {
				err = writing
			}
			if err != nil {
				_ = body.Close()
				_ = in.CloseWithError(err)
				return
			}
		}
	}()
	return out
}

// ageFunc makes an object of a kind older.
type ageFunc = func(object map[string]any, kind string) any

func ageAnswer(r *http.Response, age ageFunc) error {
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
func ageEvents(body io.ReadCloser, age ageFunc) io.ReadCloser {
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
func ageDocument(document map[string]any, age ageFunc) any {
	kind, _ := document["kind"].(string)
	items, isList := document["items"].([]any)
	if !isList {
		return age(document, kind)
	}
	for i, item := range items {
		if object, ok := item.(map[string]any); ok {
			items[i] = age(object, strings.TrimSuffix(kind, "List"))
		}
	}
	return document
}

// ageObject makes an object older. What leads to the object store leads to the proxy.
func (p *ShiftProxy) ageObject(object map[string]any, kind string) any {
	for _, way := range [][]string{{"status", "downloadURL"}, {"spec", "config", "s3Url"}} {
		if to, ok, _ := unstructured.NestedString(object, way...); ok {
			_ = unstructured.SetNestedField(
				object,
				strings.Replace(to, p.stored, p.server.URL+strings.TrimSuffix(storeProxyPath, "/"), 1),
				way...)
		}
	}
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if by := p.shift.AgeOf(kind, name); by != 0 {
		return shiftTimes(object, by)
	}
	return object
}

// shiftTimes moves every time in a value back.
func shiftTimes(value any, by time.Duration) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = shiftTimes(v[key], by)
		}
	case []any:
		for i := range v {
			v[i] = shiftTimes(v[i], by)
		}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Add(-by).UTC().Format(time.RFC3339)
		}
	}
	return value
}
