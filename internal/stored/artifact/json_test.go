package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/filetype"
	"github.com/veltui/veltui/internal/job"
)

func readResults(r io.Reader) (results Results, err error) {
	err = readJSON(r, results.decodeFrom)
	return results, err
}

func readResources(r io.Reader, kind job.Kind) ([]KindItems, error) {
	list := resourceList{restore: kind == job.Restore}
	err := readJSON(r, list.decodeFrom)
	return list.sorted, err
}

func readOperations(r io.Reader) (operations []Operation, err error) {
	err = readJSON(r, readList(&operations, (*storedOperation).toOperation))
	return operations, err
}

func readVolumes(r io.Reader) (volumes []VolumeInfo, err error) {
	err = readJSON(r, readList(&volumes, (*storedVolume).toVolumeInfo))
	return volumes, err
}

func TestReadResults(t *testing.T) {
	got, err := readResults(strings.NewReader(samples["BackupResults"]))
	want := Results{Warnings: Messages{
		Velero: []string{"slow"}, Cluster: []string{"a", "b"},
		Namespaces: map[string][]string{"shop": {"c"}, "ops": {"d", "e"}},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if len(got.Warnings.AllMessages()) != 6 || len(got.Errors.AllMessages()) != 0 {
		t.Errorf("%d warnings, %d errors", len(got.Warnings.AllMessages()), len(got.Errors.AllMessages()))
	}
}

func TestReadResourceList(t *testing.T) {
	got, err := readResources(strings.NewReader(samples["RestoreResourceList"]), job.Restore)
	want := []KindItems{
		{"rbac.authorization.k8s.io/v1/ClusterRole", []ItemEntry{{"", "odd(name)", "skipped"}, {"", "plain(name)", ""}}},
		{"v1/Pod", []ItemEntry{{"shop", "web-0", "created"}, {"shop", "web-1", "failed"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = readResources(strings.NewReader(`{"v1/Pod":["shop/a(created)"]}`), job.Backup)
	want = []KindItems{{"v1/Pod", []ItemEntry{{"shop", "a(created)", ""}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadItemOperations(t *testing.T) {
	got, err := readOperations(strings.NewReader(samples["BackupItemOperations"]))
	want := []Operation{
		{
			ID:                 "du-1.2",
			Action:             "velero.io/csi-pvc-backupper",
			Resource:           "persistentvolumeclaims",
			Namespace:          "shop",
			Name:               "data",
			Phase:              "InProgress",
			Done:               5,
			Total:              10,
			Units:              "Bytes",
			Description:        "Current phase: InProgress",
			PostOperationItems: "datauploads.velero.io velero/x",
			Created:            time.Date(2026, 11, 21, 2, 4, 13, 0, time.UTC),
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = readOperations(strings.NewReader(samples["RestoreItemOperations"]))
	if err != nil || len(got) != 2 || got[0].Error != "it broke" || got[0].Group != "lab.example.com" ||
		got[1] != (Operation{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadVolumes(t *testing.T) {
	got, err := readVolumes(strings.NewReader(samples["BackupVolumeInfos"]))
	want := []VolumeInfo{
		{
			Namespace:           "shop",
			Claim:               "data",
			PersistentVolume:    "pv-0",
			Method:              "CSISnapshot",
			DataMoved:           true,
			Result:              "succeeded",
			Phase:               "Completed",
			Size:                4096,
			Incremental:         512,
			SnapshotHandle:      "k1",
			Operation:           "du-1.2",
			CSIDriver:           "disk.csi.example.com",
			DataMover:           "velero",
			Uploader:            "kopia",
			SnapshotContent:     "v",
			LocalSnapshotHandle: "csi",
			LocalSnapshotSize:   1,
			Started: time.Date(
				2026,
				11,
				21,
				1,
				0,
				0,
				0,
				time.UTC,
			),
			Completed: time.Date(2026, 11, 21, 1, 2, 0, 0, time.UTC),
		},
		{Namespace: "shop", Claim: "log", Skipped: true, SkippedReason: "no policy"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = readVolumes(strings.NewReader(samples["RestoreVolumeInfo"]))
	want = []VolumeInfo{{
		Namespace: "shop", Claim: "data", PersistentVolume: "pv-0", Method: "PodVolumeRestore", Phase: "Completed",
		Size: 77, SnapshotHandle: "k2", Uploader: "kopia", PodNamespace: "shop", Pod: "web-0", PodVolume: "data",
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What is unknown to Velero is not known, and is no name.
func TestUnknownIsEmpty(t *testing.T) {
	got, err := readVolumes(strings.NewReader(`[{"backupMethod":"CSISnapshot","snapshotDataMoved":true,` +
		`"csiSnapshotInfo":{"snapshotHandle":"unknown","vscName":"unknown","operationID":"unknown","driver":"d"},"snapshotDataMovementInfo":{"dataMover":"velero","uploaderType":"kopia"}},` +
		`{"backupMethod":"NativeSnapshot","result":"succeeded","nativeSnapshotInfo":{"snapshotHandle":"snap-1","volumeType":"gp3","volumeAZ":"eu-1a","iops":"300","Phase":"Completed"}}]`))
	want := []VolumeInfo{
		{Method: "CSISnapshot", DataMoved: true, CSIDriver: "d", DataMover: "velero", Uploader: "kopia"},
		{
			Method:         "NativeSnapshot",
			Result:         "succeeded",
			Phase:          "Completed",
			SnapshotHandle: "snap-1",
			VolumeType:     "gp3",
			Zone:           "eu-1a",
			IOPS:           "300",
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// readers read each of the documents and say nothing but whether it worked.
var readers = map[string]func(io.Reader) error{
	"results":    func(r io.Reader) error { _, err := readResults(r); return err },
	"resources":  func(r io.Reader) error { _, err := readResources(r, job.Restore); return err },
	"operations": func(r io.Reader) error { _, err := readOperations(r); return err },
	"volumes":    func(r io.Reader) error { _, err := readVolumes(r); return err },
}

func TestReadersTolerateWhatIsMissing(t *testing.T) {
	for name, read := range readers {
		texts := []string{`null`, "null\n"}
		switch name {
		case "results":
			texts = append(texts, `{}`, `{"warnings":null}`, `{"errors":{"namespaces":null,"cluster":null},"more":[1]}`)
		case "resources":
			texts = append(texts, `{}`, `{"v1/Pod":null}`)
		default:
			texts = append(texts, `[]`, `[{}]`, `[null]`, `[{"spec":null,"status":null,"pvbInfo":null}]`)
		}
		for _, text := range texts {
			if err := read(strings.NewReader(text)); err != nil {
				t.Errorf("%s of %s: %v", name, text, err)
			}
		}
	}
}

func TestReadersRefuseWhatIsBroken(t *testing.T) {
	for name, read := range readers {
		for _, text := range []string{``, `{`, `[`, `"x"`, `17`, `<html>`, `{"warnings":17}x`, "null null", "null\x1b[2J", strings.Repeat("[", 20000), strings.Repeat(`{"v1/Pod":`, 20000)} {
			err := read(strings.NewReader(text))
			if err == nil {
				t.Errorf("%s takes %.20q", name, text)
			} else if strings.ContainsRune(err.Error(), 0x1b) || len(err.Error()) > 400 {
				t.Errorf("%s of %.20q: bad words %q", name, text, err)
			}
		}
	}
}

// manyKinds names kinds without end: each would take a list of its own.
func manyKinds(n int) string {
	var text strings.Builder
	text.WriteString(`{"v1/Pod":["shop/web"]`)
	for i := range n {
		fmt.Fprintf(&text, `,"g%d/v1/K%d":["ns%d/p"]`, i, i, i)
	}
	return text.String() + "}"
}

// What a hostile store names is refused while it is read, not once it is all in memory.
func TestReadersBoundDocuments(t *testing.T) {
	long := strings.Repeat("a", maxValueBytes)
	for name, c := range map[string]struct{ reader, text, says string }{
		"kinds":         {"resources", manyKinds(600_000), "more than 20000 kinds"},
		"a long name":   {"resources", `{"v1/Pod":["` + long + `"]}`, "a value in it has more than"},
		"a long kind":   {"resources", `{"` + long + `":[]}`, "a value in it has more than"},
		"a long volume": {"volumes", `[{"pvcName":"` + long + `"}]`, "a value in it has more than"},
		"long results":  {"results", `{"errors":{"velero":["` + long + `"]}}`, "a value in it has more than"},
	} {
		if err := readers[c.reader](
			strings.NewReader(c.text),
		); !errors.Is(err, ErrTooLarge) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A document as large as that is read if its values are not.
	if err := readers["resources"](
		strings.NewReader(`{"v1/Pod":["a/b"` + strings.Repeat(`,"shop/a-pod-with-a-long-name"`, 700_000) + `]}`),
	); err != nil {
		t.Errorf("a long list: %v", err)
	}
}

// Of the kinds that nobody wants, only the namespaces are kept.
func TestResourcesOfSomeKinds(t *testing.T) {
	l := resourceList{wanted: func(kind string) bool { return kind == "v1/Pod" }}
	text := `{"v1/Secret":["shop/a","shop/b","crm/c"],"v1/Node":["n1"],"v1/Pod":["shop/web"],"v1/Empty":null}`
	if err := readJSON(strings.NewReader(text), l.decodeFrom); err != nil {
		t.Fatal(err)
	}
	want := []KindItems{
		{Items: []ItemEntry{{Namespace: "crm"}, {Namespace: "shop"}}},
		{Kind: "v1/Pod", Items: []ItemEntry{{Namespace: "shop", Name: "web"}}},
	}
	if !reflect.DeepEqual(l.sorted, want) {
		t.Errorf("%+v, want %+v", l.sorted, want)
	}
	var many strings.Builder
	for i := range maxKeptItems {
		fmt.Fprintf(&many, `,"ns%d/p"`, i)
	}
	l = resourceList{wanted: l.wanted}
	if err := readJSON(
		strings.NewReader(`{"v1/Secret":["a/b"`+many.String()+`]}`),
		l.decodeFrom,
	); !errors.Is(
		err,
		ErrTooLarge,
	) {
		t.Errorf("too many namespaces: %v", err)
	}
}

// A list of nothings takes far more memory than it has bytes.
func TestReadersBoundWhatTheyKeep(t *testing.T) {
	nothings := map[string]string{
		"results":    `{"errors":{"velero":[""` + strings.Repeat(`,""`, maxCommas+1) + `]}}`,
		"resources":  `{"v1/Pod":[""` + strings.Repeat(`,""`, maxCommas+1) + `]}`,
		"operations": `[{}` + strings.Repeat(`,{}`, maxListLength) + `]`,
		"volumes":    `[{}` + strings.Repeat(`,{}`, maxListLength) + `]`,
	}
	for name, text := range nothings {
		if err := readers[name](strings.NewReader(text)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadersMakeTextHarmless(t *testing.T) {
	bad := `\u001b]52;c;eA==\u0007\u202e`
	harmless := func(v any) {
		t.Helper()
		var walk func(reflect.Value)
		walk = func(v reflect.Value) {
			switch v.Kind() {
			case reflect.String:
				if strings.ContainsAny(v.String(), "\x1b\x07\u202e") {
					t.Errorf("%q came through", v.String())
				}
			case reflect.Slice:
				for i := range v.Len() {
					walk(v.Index(i))
				}
			case reflect.Map:
				for _, k := range v.MapKeys() {
					walk(k)
					walk(v.MapIndex(k))
				}
			case reflect.Struct:
				if _, ok := v.Interface().(time.Time); ok {
					return
				}
				for i := range v.NumField() {
					walk(v.Field(i))
				}
			}
		}
		walk(reflect.ValueOf(v))
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	list := `["` + bad + `"]`
	results, err := readResults(
		strings.NewReader(
			`{"errors":{"velero":` + list + `,"cluster":` + list + `,"namespaces":{"` + bad + `":` + list + `}}}`,
		),
	)
	must(err)
	harmless(results)
	if len(results.Errors.AllMessages()) != 3 {
		t.Errorf("%d messages, want 3", len(results.Errors.AllMessages()))
	}
	resources, err := readResources(strings.NewReader(`{"`+bad+`":`+list+`}`), job.Backup)
	must(err)
	harmless(resources)
	for _, kind := range []string{"BackupItemOperations", "RestoreItemOperations", "BackupVolumeInfos", "RestoreVolumeInfo"} {
		text := samples[kind]
		for _, word := range []string{"shop", "data", "du-1.2", "InProgress", "Bytes", "it broke", "lab", "kopia", "web-0", "pv-0", "no policy", "Completed", "succeeded", "k1", "velero"} {
			text = strings.ReplaceAll(text, `"`+word+`"`, `"`+bad+`"`)
		}
		if strings.HasSuffix(kind, "Operations") {
			operations, err := readOperations(strings.NewReader(text))
			must(err)
			harmless(operations)
		} else {
			volumes, err := readVolumes(strings.NewReader(text))
			must(err)
			harmless(volumes)
		}
	}
}

func TestUnpack(t *testing.T) {
	text := strings.Repeat("line of a log\n", 1000)
	whole := zip(text)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 0xff // the checksum
	tests := []struct {
		name   string
		stored []byte
		want   string
		err    error
		says   string
	}{
		{"gzip", whole, text, nil, ""},
		{"packed once more on the way", zip(string(whole)), text, nil, ""},
		{"unpacked on the way", []byte(text), text, nil, ""},
		{"two members", append(bytes.Clone(whole), whole...), text + text, nil, ""},
		{"nothing", nil, "", nil, ""},
		{"one byte", []byte{0x1f}, "\x1f", nil, ""},
		{"cut off", whole[:len(whole)-9], "", io.ErrUnexpectedEOF, "ends too early"},
		{"cut off in the header", whole[:5], "", io.ErrUnexpectedEOF, "ends too early"},
		{"bad checksum", flipped, "", nil, "damaged"},
		{"bad header", []byte{0x1f, 0x8b, 9, 0, 0, 0, 0, 0, 0, 0, 0}, "", nil, "damaged"},
		{"trailing garbage", append(bytes.Clone(whole), "garbage of some length"...), "", nil, "damaged"},
		{"a bomb by size", zip(strings.Repeat("x", 2<<20)), "", ErrTooLarge, "more than 1048576 bytes"},
	}
	for _, test := range tests {
		got, err := io.ReadAll(&unpacker{stored: bytes.NewReader(test.stored), maxBytes: 1 << 20, ratio: 400, replaced: asReplaced})
		if test.says == "" {
			if err != nil || string(got) != test.want {
				t.Errorf("%s: %d bytes, %v", test.name, len(got), err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.says) || test.err != nil && !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	got, err := io.ReadAll(
		&unpacker{stored: bytes.NewReader(zip(strings.Repeat("\x00", 64<<20))), maxBytes: 1 << 30, ratio: 400, replaced: asReplaced},
	)
	if !errors.Is(err, ErrTooLarge) || len(got) > ratioFrom+1<<16 {
		t.Errorf("a bomb by ratio: %d bytes came out, %v", len(got), err)
	}
}

func FuzzReaders(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
		f.Add(zip(text))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		for name, read := range readers {
			err := read(&unpacker{stored: bytes.NewReader(stored), maxBytes: 1 << 20, ratio: 400, replaced: asReplaced})
			if err != nil &&
				strings.ContainsFunc(err.Error(), func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }) {
				t.Errorf("%s: the error %q is not harmless", name, err)
			}
		}
	})
}

func asReplaced(t filetype.Type) error { return fmt.Errorf("%w: it is %s", ErrReplaced, t) }
