package watch

import (
	"errors"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func decoderOf(text string) *eventDecoder {
	return newEventDecoder(io.NopCloser(strings.NewReader(text)), newKindReader(kinds[0], nil, "velero").decodeObject)
}

func nameOf(t *testing.T, o any) string {
	t.Helper()
	switch o := o.(type) {
	case *receivedObject:
		if _, ok := o.Object.(*veleroapi.Backup); !ok {
			t.Errorf("a %T", o.Object)
		}
		return o.GetName()
	case *metav1.Status:
		return o.Message
	}
	t.Errorf("a %T", o)
	return ""
}

func TestEventsHoweverTheyAreWritten(t *testing.T) {
	const a = `{"metadata":{"name":"a"}}`
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		text string
		want string
		end  error
	}{
		"as the API server writes them": {`{"type":"ADDED","object":` + a + "}\n" + `{"type":"DELETED","object":` + a + "}\n", "ADDED a, DELETED a", io.EOF},
		"an error":                      {`{"type":"ERROR","object":{"kind":"Status","message":"too old","code":410}}` + "\n", "ERROR too old", io.EOF},
		"a bookmark":                    {`{"type":"BOOKMARK","object":{"kind":"Backup","metadata":{"resourceVersion":"7"}}}` + "\n", "BOOKMARK ", io.EOF},
		"in another order":              {`{"object":` + a + `,"type":"ADDED"}` + "\n", "ADDED a", io.EOF},
		"with spaces":                   {"\n \r\n" + ` { "type" : "ADDED" , "object" : ` + a + " } \r\n", "ADDED a", io.EOF},
		"with more in it":               {`{"type":"ADDED","object":` + a + `,"more":{}}` + "\n", "ADDED a", io.EOF},
		"a type in escapes":             {`{"type":"ADD\u0045D","object":` + a + "}\n", "ADDED a", io.EOF},
		"longer than a buffer":          {`{"type":"ADDED","object":{"metadata":{"name":"a","annotations":{"x":"` + long + `"}}}}` + "\n", "ADDED a", io.EOF},
		"malformed":                     {`{"type":"ADDED","object":{"metadata":{"name":"a"},"spec":{"ttl":"30d"}}}` + "\n", "ADDED a", io.EOF},
		"no object":                     {`{"type":"ADDED","object":7}` + "\n" + `{"type":"ADDED","object":null}` + "\n" + `{"type":"ADDED"}` + "\n" + `{"type":"ADDED","object":` + a + "}\n", "ADDED a", io.EOF},
		"cut off":                       {`{"type":"ADDED","object":` + a + "}\n" + `{"type":"ADDED","obj`, "ADDED a", io.ErrUnexpectedEOF},
		"no JSON":                       {"<html>\n", "", errAny},
		"without end":                   {`{"type":"` + strings.Repeat("x", maxEventBytes), "", errAny},
		"nothing":                       {"", "", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			d := decoderOf(c.text)
			var got []string
			for {
				kind, o, err := d.Decode()
				if err != nil {
					if c.end == errAny && err == io.EOF || c.end != errAny && err != c.end {
						t.Errorf("it ends with %v, want %v", err, c.end)
					}
					break
				}
				got = append(got, string(kind)+" "+nameOf(t, o))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// errAny stands for any error that is more than an end.
var errAny = errors.New("any")

// FuzzEvents: whatever comes, each event is one that JSON would read.
func FuzzEvents(f *testing.F) {
	f.Add(
		`{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n" + `{"type":"ERROR","object":{"message":"x"}}` + "\n",
	)
	f.Add(`{"type":"A","object":{"object":","object":"}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := decoderOf(text)
		for range 1000 {
			kind, o, err := d.Decode()
			if err != nil {
				return
			}
			if o == nil {
				t.Fatalf("%s without an object", kind)
			}
			if _, status := o.(*metav1.Status); status != (kind == apiwatch.Error) {
				t.Fatalf("%s with a %T", kind, o)
			}
		}
	})
}
