package collector

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// FuzzRead gives Read any bytes: it must come to an end within its limits and
// never panic; what it returns must be usable.
func FuzzRead(f *testing.F) {
	f.Add(buildArchive(f, file{"metadata/version", "1.1.0"}, file{podA + "p.json", podJSON("Running", "c")}))
	f.Add(pack(f, manyPods(f, 3)))
	f.Add([]byte{})
	f.Add(manyPods(f, 2))
	f.Add(pack(f, pack(f, manyPods(f, 2))))
	f.Add([]byte("<html><title>Login</title></html>"))
	limits := Limits{UnpackedBytes: 4 << 20, ObjectBytes: 1 << 20, IndexBytes: 1 << 20}
	f.Fuzz(func(t *testing.T, archive []byte) {
		x, err := Read(context.Background(), bytes.NewReader(archive), limits)
		if err != nil && !x.Incomplete {
			t.Fatal("an error without a partial index")
		}
		estimate(t, x, RestoreInput{}, Discovery{})
	})
}

// FuzzTar compares the tar reader with archive/tar on the entries that both
// understand. Its input is the tar itself, so that the fuzzer need not guess
// gzip checksums; header checksums are mended.
func FuzzTar(f *testing.F) {
	f.Add(buildTar(f, file{podA + "p.json", podJSON("Running")}, file{"resources/x/cluster/y.json", "{}"}))
	f.Add(buildTar(f, file{podA + string(bytes.Repeat([]byte("n"), 200)) + ".json", "{}"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		for i := 0; i+tarBlock <= len(data); i += tarBlock {
			if h := data[i : i+tarBlock]; h[0] != 0 && bytes.HasPrefix(h[257:], []byte("ustar")) {
				copy(h[148:156], octalSum(h))
			}
		}
		rest := data
		ours := tarReader{maxName: 1 << 20, nextBlock: func() ([]byte, error) {
			if len(rest) == 0 {
				return nil, io.EOF
			}
			n := min(len(rest), 700) // blocks that cut everything in two
			block := rest[:n]
			rest = rest[n:]
			return block, nil
		}}
		theirs := tar.NewReader(bytes.NewReader(data))
		for {
			e, err := ours.nextEntry()
			h, theirErr := theirs.Next()
			for theirErr == nil && h.Typeflag == tar.TypeXGlobalHeader {
				h, theirErr = theirs.Next() // we pass over them
			}
			if err != nil || theirErr != nil {
				if err == nil && errors.Is(theirErr, tar.ErrHeader) {
					return // it is stricter about fields that do not matter here
				}
				if (err == io.EOF) != (theirErr == io.EOF) && err == nil {
					t.Fatalf("ours %v, theirs %v", err, theirErr)
				}
				return
			}
			if h.Format == tar.FormatGNU || h.Format == tar.FormatUnknown {
				return // their prefix field is a matter of taste
			}
			if string(e.name) != h.Name || e.flag == typeReg && e.size != h.Size {
				t.Fatalf("ours %q %d, theirs %q %d (%v)", e.name, e.size, h.Name, h.Size, h.Format)
			}
		}
	})
}

func octalSum(h []byte) []byte {
	sum := headerSum(h)
	out := []byte("000000\x00 ")
	for i := 5; i >= 0; i, sum = i-1, sum>>3 {
		out[i] = byte('0' + sum&7)
	}
	return out
}

// FuzzObject compares the scanner with what Velero decodes objects with. The
// scanner may be laxer about a text that is no JSON, never stricter, and must
// read the same where both can.
func FuzzObject(f *testing.F) {
	for _, body := range []string{
		podJSON("Succeeded", "c"), claimJSON("v"), crdJSON("widgets", "example.com", "wg"), labelled("Secret", "a=b,c=d"),
		`{"kind":"Pod","metadata":{"labels":{"a":1}},"status":null}`, `{"kind":"\u0041","x":[{},[],"",1e9,true,null,"\\\""]}`, `{`,
	} {
		f.Add([]byte(body))
	}
	var s jsonScanner
	for _, c := range needsOfBodies {
		f.Add([]byte(c.body))
	}
	o := parsedObject{withNeeds: true}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, want := range []wantedFacts{wantPod, wantJob, wantClaim, wantCRD, wantSnapshot, wantContent, wantSnapshotClass, wantVolume, wantService, wantWebhooks, wantStorageClass, wantRules} {
			_ = o.parseBody(&s, body, want)
		}
		err := o.parseBody(&s, body, wantPod)
		var u unstructured.Unstructured
		if theirErr := json.Unmarshal(body, &u); theirErr != nil {
			return
		}
		if err != nil {
			t.Fatalf("refused what Velero can read: %v", err)
		}
		want := u.GetLabels()
		got := map[string]string{}
		for _, l := range o.labels {
			got[string(l[0])] = string(l[1])
		}
		if o.badLabels {
			got = nil
		}
		if len(got) != len(want) {
			t.Fatalf("labels %v, want %v", got, want)
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("labels %q, want %q", got, want)
			}
		}
		phase, _, phaseErr := unstructured.NestedString(u.Object, "status", "phase")
		if wantDone := phaseErr != nil || phase == "Succeeded" || phase == "Failed"; o.hasCompleted(wantPod) != wantDone {
			t.Fatalf("completed %v, want %v", o.hasCompleted(wantPod), wantDone)
		}
	})
}

// FuzzSpec gives Estimate any words, patterns and selectors.
func FuzzSpec(f *testing.F) {
	for _, seed := range [][6]string{
		{"pods", "*.apps", "a*", "{b,c}", "app", "In"}, {"po.", "deploy.app", "[a-c]?", "*", "", "Exists"},
		{"*", "**", "[", "\\", "k", "NotIn"}, {"{*,**}", "{{}}", "[!]", "{a,{b,c}}", "x/y", "DoesNotExist"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], seed[5])
	}
	x := mustRead(
		f,
		buildArchive(
			f,
			file{podA + "p.json", podJSON("Running")},
			file{"resources/deployments.apps/namespaces/b/d.json", labelled("Deployment", "app=x")},
		),
	)
	f.Fuzz(func(t *testing.T, in, out, nsIn, nsOut, key, op string) {
		for _, v := range [][3]int{{}, {1, 18, 0}, {1, 9, 0}} {
			e := estimate(t, x, RestoreInput{Server: VeleroServer{Version: v}, Restore: veleroapi.RestoreSpec{
				IncludedResources: []string{in}, ExcludedResources: []string{out},
				IncludedNamespaces: []string{nsIn}, ExcludedNamespaces: []string{nsOut},
				NamespaceMapping: map[string]string{nsIn: nsOut},
				LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: key, Operator: metav1.LabelSelectorOperator(op), Values: []string{nsIn}}}},
			}}, Discovery{})
			if e.Total > 2+2 || len(e.Refusals) > 0 && e.Total > 0 {
				t.Fatalf("%+v", e)
			}
		}
	})
}
