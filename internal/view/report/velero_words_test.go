package report

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// claimNames are names of objects that are words of the rules.
var claimNames = strings.Fields(`
	data stringData es-data my-data token tokens api-token password passwords db-password passwd pass passphrase pwd pw
	secret secrets client-secret key keys api-key access-key private-key secret-key tls.key ca.key s3-key cred creds
	credential credentials cookie session jwt auth authorization sig signature basic bearer negotiate nonce salt pin otp dsn
	csrf webhook-url password-command clave jeton geheim parola senha haslo heslo sifre mdp user name value env mysql redis
	mongo vault openssl passwort kennwort id-rsa dockerconfigjson hash stringdata private certificate-authority-data
`)

// veleroMessages are messages of Velero 1.15 to 1.18, its plugins, the API server and object stores, as they stand
// behind the name of an object.
var veleroMessages = []string{
	`found a datadownload with status "InProgress" during the node-agent starting, mark it as cancel`,
	"found a dataupload velero/nightly-20261128-ccccc with expose error: Pod is unschedulable: 0/15 nodes are available",
	"error to expose snapshot: timeout", "error to initialize data path: kopia repository",
	"error exposing volume: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
	"timeout on preparing data upload", "timeout waiting for the condition", "data path backup failed: unable to save",
	"unable to find the mapped volume", "get a podvolumebackup with status \"InProgress\" during the server starting",
	"fail to patch dynamic PV, err: context deadline exceeded", "context deadline exceeded", "context canceled",
	"failed to create snapshot content with error", "pod volume backup failed: no space left on device",
	"read: connection reset by peer", "write: broken pipe", "dial tcp 10.0.0.1:443: connect: connection refused",
	"no such file or directory", "not found", "already exists. Warning: the in-cluster version is different",
	"EOF", "unexpected EOF", "Cancelled", "cancel request from user", "the server could not find the requested resource",
	"exposed object is missing: pod velero/x not found", "Pod is in abnormal state Failed", "canceling this dataupload",
	"accept: timed out", "DataUpload is canceled", "PVB velero/x is canceled", "expected volume has no snapshot",
	"Async method timed out", "plugin panicked: runtime error", "could not bind volume, waiting", "cannot patch the claim",
	"permission denied", "is forbidden: exceeded quota: small", "Operation cannot be fulfilled on restores: modified",
}

// messageShapes are how a name, a phase and a message stand together.
var messageShapes = []string{
	"shop/§: P: M", "§: P: M", "§: M", "shop/§: M", "shop/§: P", "§: P", "DataDownload shop/§ is P: M",
	"volume shop/§ is P", "claim § of shop is P: M", "PVC: §, PV: pvc-0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77",
	"fail to patch dynamic PV, err: M, PVC: §, PV: §", "namespace=shop, name=§): M", `persistentvolumeclaims "§" M`,
	"name: /§ message: /Error backing up item error: /M", "shop/§: its data began to move on n1", "shop/§: P, 1.9G in 27m",
	"error restoring persistentvolumeclaims/shop/§: M", "could not restore, Ingress:§ already exists. Warning: M",
	"2 volumes: shop/§, shop/data P", "persistentvolumeclaims shop/§ by velero.io/csi-pvc-restorer: M",
}

// TestNoWordOfVelerosIsRedacted joins names that are words of the rules with all phases and messages.
func TestNoWordOfVelerosIsRedacted(t *testing.T) {
	failures := 0
	for n, name := range claimNames {
		for k, shape := range messageShapes {
			for i, message := range veleroMessages {
				if (i+n+k)%6 != 0 { // each message meets each shape with some of the names
					continue
				}
				text := strings.NewReplacer("§", name, "P", phases[i%len(phases)], "M", message).Replace(shape)
				if strings.Contains(shape, "PVC: §, PV:") {
					text = strings.NewReplacer("§", name, "M", message).Replace(shape)
				}
				if got := Redact(text); got != text {
					if failures++; failures <= 40 {
						t.Errorf("%q became %q", text, got)
					}
					break
				}
			}
		}
		for _, phase := range phases {
			for _, text := range []string{"shop/" + name + ": " + phase, name + ": " + phase + ": EOF", "claim " + name + " " + phase} {
				if got := Redact(text); got != text {
					t.Errorf("%q became %q", text, got)
				}
			}
		}
	}
	if failures > 40 {
		t.Errorf("%d failures", failures)
	}
}

// TestSecretsBehindNames holds that a credential goes also where a name or a phase stands near it.
func TestSecretsBehindNames(t *testing.T) {
	for text, secret := range map[string]string{
		"shop/token: Failed: password=hunter2":                   "hunter2",
		"error: password: hunter2-Pa55":                          "hunter2",
		"shop/db-password: hunter2-Pa55":                         "hunter2",
		"kind: Secret\nstringData:\n  a: hunter\n  b: hunter\n":  "hunter",
		"kind: Secret data: user: aHVudGVy token: aHVudGVy":      "aHVudGVy",
		"Authorization: Basic dXNlcjpodW50ZXI=":                  "dXNlc",
		"basic dXNlcjpodW50ZXI= was refused":                     "dXNlc",
		"bearer hunter2-Pa55":                                    "hunter2",
		"claim data: Failed: Get https://u:hunter@host/x":        "hunter",
		"PVC: data, err: Get https://h/x?X-Amz-Signature=hunter": "hunter",
		"volume data failed: AKIAIOSFODNN7EXAMPLE":               "AKIA",
	} {
		if got := Redact(text); strings.Contains(got, secret) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestRecordedMessagesStay holds that no word of the results, operations and volumes that a real Velero wrote is
// redacted.
func TestRecordedMessagesStay(t *testing.T) {
	var files []string
	for _, pattern := range []string{
		"../../demo/recordings/stored/*/*/*.gz", "../../job/testdata/replays/*/watch.jsonl",
		"../../diagnosis/testdata/*/*.yaml", "../../cmd/testdata/situations/*.yaml",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	texts := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "Log.gz") { // TestRecordedLogsStayReadable
			continue
		}
		addTexts(t, path, texts)
	}
	if len(texts) < 200 {
		t.Errorf("only %d texts", len(texts))
	}
	for text := range texts {
		if got := Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// addTexts adds the messages and states of a recording.
func addTexts(t *testing.T, path string, texts map[string]bool) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return // not one of Velero's files
		}
	}
	if strings.HasSuffix(path, ".yaml") {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			name, text, _ := strings.Cut(strings.TrimLeft(lines.Text(), " -"), ": ")
			if slices.Contains([]string{"message", "phase", "reason", "failureReason", "name"}, name) {
				texts[strings.Trim(text, `"'`)] = true
			}
		}
		return
	}
	decoder := json.NewDecoder(in)
	for {
		var v any
		if decoder.Decode(&v) != nil {
			return
		}
		addStrings(v, "", texts)
	}
}

// addStrings adds the strings of a document, but for annotations, which may hold anything.
func addStrings(v any, field string, texts map[string]bool) {
	switch v := v.(type) {
	case string:
		texts[v] = true
		if field == "message" || field == "error" || field == "phase" {
			texts["shop/data: "+v] = true
			texts["shop/token: "+v] = true
		}
	case []any:
		for _, e := range v {
			addStrings(e, field, texts)
		}
	case map[string]any:
		for name, e := range v {
			if name != "annotations" {
				addStrings(e, name, texts)
			}
		}
	}
}
