package testbed

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// Hostility is what a hostile API server does to its answers, beside putting
// [Poison] into each text.
type Hostility struct {
	// PoisonNames are poisoned too, and namespaces.
	PoisonNames bool
	// PoisonEverything else is poisoned too, so that times, phases and versions can no
	// longer be read; only what says of which kind a document is stays.
	PoisonEverything bool
	// Refuse gives the status code with which a request is refused, 0 for none;
	// a negative one is answered as a broken proxy would, without JSON.
	Refuse func(*http.Request) int
}

// rawBytes stands for bytes that are not UTF-8 until the answer is written.
const rawBytes = "\uf8fe"

// Poison is what is put into texts: escape sequences for the screen, the title
// and the clipboard, C1 as UTF-8 and as single bytes, what reorders and hides
// text, forged lines, and characters that swallow a row.
var Poison = "\x1b[31m\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1bP+q544e\x1b\\\x1b[6n\u009b31m\u009d52;c;aGk=\u009c" +
	rawBytes + "\u202eevil\u2066\u200b\u2028\ufeff\U000e0041\ue000\x00\x05\b\x7f\r\n" +
	"error: forged\ta" + strings.Repeat("\u0301", 30) +
	"ｶ" + strings.Repeat("\uff9e", 30) + "\u0e19" + strings.Repeat("\u0e33", 30) +
	"👍" + strings.Repeat("\U0001f3fb", 30) + strings.Repeat("\u1100", 30) +
	"\u0915" + strings.Repeat("\u0903", 30) + strings.Repeat("\u0915\u094d", 30) + "🇩🇪👩\u200d👩\ufe0f"

// headerPoison is what Go's client takes in a header: no control of ASCII.
const headerPoison = "\u009b31m\u009d52;c;aGk=\u009c\x9b31m\u202eevil\u200b"

// HostileProxy stands between a client and a real API server.
type HostileProxy struct{ server *httptest.Server }

// StartHostileProxy starts one. Close must be called.
func (c *ControlPlane) StartHostileProxy(h Hostility) (*HostileProxy, error) {
	proxy, err := NewPlainProxy(c.RESTConfig())
	if err != nil {
		return nil, err
	}
	pass := proxy.Rewrite
	proxy.Rewrite = func(r *httputil.ProxyRequest) { pass(r); r.Out.Header.Set("Accept", "application/json") }
	proxy.ModifyResponse = h.poisonResponse
	return &HostileProxy{httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.Refuse != nil {
			if code := h.Refuse(r); code != 0 {
				h.writeRefusal(w, code)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))}, nil
}

// Close ends all connections.
func (s *HostileProxy) Close() { CloseServer(s.server) }

// RESTConfig leads to the server.
func (s *HostileProxy) RESTConfig() *rest.Config { return ServerConfig(s.server) }

// writeRefusal answers with a Status, all of whose texts are poisoned.
func (h *Hostility) writeRefusal(w http.ResponseWriter, code int) {
	w.Header().Set("Warning", `299 - "`+headerPoison+`"`)
	if code < 0 {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(-code)
		_, _ = io.WriteString(w, withRawBytes("<html>"+Poison))
		return
	}
	reasons := map[int]string{
		401: "Unauthorized",
		403: "Forbidden",
		404: "NotFound",
		409: "Conflict",
		422: "Invalid",
		500: "InternalError",
		503: "ServiceUnavailable",
	}
	status := map[string]any{
		"apiVersion": "v1",
		"kind":       "Status",
		"status":     "Failure",
		"code":       code,
		"reason":     reasons[code],
		"message":    "refused " + Poison,
		"details": map[string]any{"name": Poison, "group": Poison, "kind": Poison, "uid": Poison,
			"causes": []any{map[string]any{"reason": Poison, "message": Poison, "field": Poison}}},
	}
	if h.PoisonEverything {
		status["reason"] = reasons[code] + Poison
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = writePoisoned(w, status)
}

func (h *Hostility) poisonResponse(r *http.Response) error {
	r.Header.Add("Warning", `299 - "`+headerPoison+`"`)
	r.Header.Set("Audit-Id", headerPoison)
	if r.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	body := r.Body
	read, write := io.Pipe()
	json := strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	go func() {
		defer body.Close()
		if json {
			write.CloseWithError(h.poisonDocuments(write, body))
			return
		}
		write.CloseWithError(poisonText(write, body))
	}()
	r.Body = pipeWithSource{read, body}
	r.ContentLength = -1
	r.Header.Del("Content-Length")
	return nil
}

// pipeWithSource also closes what a pipe is fed from.
type pipeWithSource struct {
	*io.PipeReader
	source io.Closer
}

// Close closes both.
func (c pipeWithSource) Close() error {
	_ = c.source.Close()
	return c.PipeReader.Close()
}

// poisonText poisons a log.
func poisonText(w io.Writer, r io.Reader) error {
	buffer := make([]byte, 4096)
	for {
		n, err := r.Read(buffer)
		if _, writeErr := io.WriteString(w, string(buffer[:n])+withRawBytes(Poison)); writeErr != nil || err != nil {
			return err
		}
	}
}

// poisonDocuments poisons one document, or the events of a watch one by one.
func (h *Hostility) poisonDocuments(w io.Writer, r io.Reader) error {
	decoder := json.NewDecoder(r)
	decoder.UseNumber()
	for {
		var document any
		if err := decoder.Decode(&document); err != nil {
			return err
		}
		if err := writePoisoned(w, h.poisonValue("", "", document)); err != nil {
			return err
		}
	}
}

func writePoisoned(w io.Writer, document any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, withRawBytes(b.String()))
	return err
}

func withRawBytes(s string) string { return strings.ReplaceAll(s, rawBytes, "\x9b31m\xff\xc3") }

var (
	// documentFields says of which kind a document is, and what a watch event means.
	documentFields = []string{
		"apiVersion",
		"kind",
		"type",
		"resourceVersion",
		"groupVersion",
		"continue",
		"k8s.io/initial-events-end",
	}
	// structureFields is what clients find their way by.
	structureFields = []string{
		"uid",
		"phase",
		"status",
		"preferredVersion",
		"version",
		"versions",
		"singularName",
		"shortNames",
		"verbs",
		"group",
		"groups",
		"resource",
		"resources",
		"plural",
		"singular",
		"scope",
		"labels",
		"matchLabels",
		"ownerReferences",
		"format",
		"conditionType",
		"storedVersions",
		"operation",
	}
	// nameFields are poisoned on demand.
	nameFields = []string{"name", "namespace", "backupName", "storageLocation", "scheduleName"}
	// parsedValue are times, durations and quantities.
	parsedValue = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT.*|-?[\d.]+[a-zA-Z]*|([\d.]+(h|m|s|ms|us|ns))+)$`)
)

// poisonValue returns value with poison in its texts. key is the field that holds
// it, and above the one that holds that.
func (h *Hostility) poisonValue(above, key string, value any) any {
	switch v := value.(type) {
	case string:
		if h.isSpared(above, key, v) {
			return v
		}
		return v + Poison
	case []any:
		for i := range v {
			v[i] = h.poisonValue(above, key, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = h.poisonValue(key, k, v[k])
		}
		if key == "annotations" || key == "namespaceMapping" || key == "orderedResources" {
			v[Poison] = Poison
		}
		if v["kind"] == "DownloadRequest" {
			v["status"] = map[string]any{"phase": "Processed", "downloadURL": "http://127.0.0.1:1/" + Poison}
		}
	}
	return value
}

func (h *Hostility) isSpared(above, key, value string) bool {
	switch {
	case slices.Contains(documentFields, key):
		return true
	case h.PoisonEverything:
		return false
	case slices.Contains(nameFields, key):
		return !h.PoisonNames || above == "resources" || above == "groups" // of discovery
	}
	return slices.Contains(structureFields, key) || slices.Contains(structureFields, above) ||
		parsedValue.MatchString(value)
}
