package report

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

var update = flag.Bool("update", false, "write the golden report anew")

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *metav1.Time { t := metav1.NewTime(noon.Add(-d)); return &t }

// stuck is a restore whose last patch was lost. say is in every text of others.
func stuck(say string) Input {
	r := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "velero",
			Name:              "crm-rollback",
			UID:               types.UID("uid-1"),
			CreationTimestamp: *before(2 * time.Hour),
		},
		Spec: veleroapi.RestoreSpec{BackupName: "crm-nightly-5"},
		Status: veleroapi.RestoreStatus{
			Phase:            veleroapi.RestorePhaseInProgress,
			StartTimestamp:   before(2 * time.Hour),
			FailureReason:    say,
			ValidationErrors: []string{say},
			Progress:         &veleroapi.RestoreProgress{ItemsRestored: 902, TotalItems: 918},
		},
	}
	j := job.Fold(nil, job.Observation{Restore: r, ObservedAt: noon.Add(-time.Hour)})
	snap := &watch.Snapshot{
		At:        noon,
		Namespace: "velero",
		Health:    watch.Health{State: watch.Live},
		Jobs:      []*job.Job{j},
		Active:    []*job.Job{j},
		Sources: []watch.Source{
			{Resource: watch.Pods, State: watch.SourceForbidden, Err: "you may not list pods " + say},
		},
	}
	var estimates assess.Estimates
	a := estimates.AssessSnapshot(snap, noon)
	judged := a.AssessJob(a.Snapshot.Jobs[0])
	gaveUp := diagnosis.ProveGivenUp(
		diagnosis.Fact{Supports: true, Text: "the server gave up " + say, Source: "log", At: noon},
	)
	judged.Verdict = diagnosis.NewProven(
		diagnosis.Stuck,
		gaveUp,
		diagnosis.LostPatch,
		"crm-rollback: its work is over, but Velero gave up writing Finalizing "+say,
	)
	judged.Verdict.Advice, judged.Verdict.Facts = "Finalize it "+say, []diagnosis.Fact{
		{Supports: true, Text: "902 of 918 items " + say, Source: "watch", At: noon.Add(-time.Hour)},
		{Text: "veltui has not checked its results", Source: "storage", At: noon},
	}
	log := &DecisiveLines{From: "the logs of Velero's server"}
	for range maxLastLines {
		log.AddLine(logs.Line{At: noon.Add(-90 * time.Minute), Level: logs.Info, Text: "restored an item " + say})
	}
	log.AddLine(
		logs.Line{
			At:    noon.Add(-time.Hour),
			Level: logs.Error,
			Text:  "Error updating restore's status from InProgress to Finalizing",
			Error: "connection refused " + say,
		},
	)
	return Input{
		Now:           noon,
		VeltuiVersion: "v1.0.0",
		Context:       "prod " + say,
		Assessment:    a,
		Job:           judged,
		Log:           log,
		Sections: results.GroupMessages(
			artifact.Results{
				Errors: artifact.Messages{
					Namespaces: map[string][]string{
						"crm": {"error restoring secrets/crm/db: " + say, "the server said: " + say},
					},
				},
			},
		),
		MessagesNote: "Velero may add more until it ends. " + say,
		Operations: []artifact.Operation{
			{Phase: "Failed", Resource: "datadownloads", Name: "d", Action: "csi", Error: say},
		},
		Limits: []velero.Limit{{Name: "resource-timeout", Value: "10m0s", Source: "server flag " + say}},
		PastActions: []PastAction{
			{
				At:     document.Moment{Time: noon.Add(-30 * time.Minute)},
				By:     "ops@example.org",
				Text:   "had Velero look at it again",
				Reason: "INC-1 " + say,
				Source: "annotation veltui.io/woken",
			},
		},
		Remaining: []Step{
			{"Finalize it, which moves it to Finalizing", []string{"veltui finalize restore/crm-rollback " + say}},
		},
		Unchecked: []Unchecked{{"the stored log", "read-only " + say}},
	}
}

// TestGolden is what somebody who was not there gets to read.
func TestGolden(t *testing.T) {
	const file = "testdata/stuck.md"
	got := New(stuck("")).Markdown()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the report is not as in %s (go test ./internal/view/report -update):\n%s", file, got)
	}
}

// secrets are credentials as logs, messages and addresses hold them: what is secret, and
// the text around it, where § stands for it.
var secrets = map[string][]string{
	"hunter2-Pa55": {
		"password=§",
		"password: §",
		`{"password":"§"}`,
		`db_password='§'`,
		"DB_PASSWORD=§",
		"postgres://crm:§@db:5432/crm",
		"https://:§@host/x",
		"--password §",
		"Authorization: Basic §",
		"authorization: bearer §",
		"Bearer §",
		"curl -H 'X-Auth-Token: §'",
		`"Authorization":"Bearer §"`,
		`{\"token\":\"§\"}`,
		"client_secret=§",
		"aws_secret_access_key = §",
		"secretKey: §",
		"api-key=§",
		`secret "db" has {"data":{"pw":"§"}}`,
		"data:map[pw:§]",
		`"stringData": {"a":"§"`,
		"pass=§",
		"Cookie: a=§; b=§",
		"password=>§",
		"https://s3.example/b/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=§&x=1",
		"https://store/o?sig=§",
		"https://store/o?a=b#§",
		"X-Amz-Credential=§",
		"-----BEGIN RSA PRIVATE KEY-----\nS\n-----END RSA PRIVATE KEY-----",
		"-----BEGIN CERTIFICATE----- §",
		`{"name":"DB_PASSWORD","value":"§"}`,
		`{\"name\":\"DB_PASSWORD\",\"value\":\"§\"}`,
		`{Name:DB_PASSWORD Value:§ ValueFrom:nil}`,
		`{"value":"§","name":"DB_PASSWORD"}`,
		"name: DB_PASSWORD\n  value: §",
		"dbPassword: §",
		"PGPASSWORD=§ pg_dump",
		"MYSQL_PWD=§",
		`"dbPassword":"§"`,
		"adminToken=§",
		"passwordHash: §",
		`{\"data\":{\"db\":\"§\"}}`,
		`{\"data\":{\"a\":\"x}\",\"db\":\"§\"}}`,
		"data:\n  db: §\n  b: §",
		`parse "https://user:p/ss§@host": invalid port`,
		"https://user:p?§@host/x",
		"https://user:p'§@host/x",
		"password\x1b[0m=§",
		"\x1b[36mpassword\x1b[0m=\x1b[31m§",
		`password\x1b[0m=§`,
		`pass\u001b[0mword=§`,
		"pass\u200bword=§",
		`"password":["§"]`,
		`"password":["x","§"]`,
		"password: [x, §]",
		`password: {"value": "§"}`,
		`--password "§"`,
		"--password '§'",
		`["--password","§"]`,
		"crm:§@tcp(db:3306)/crm",
		"crm:p:§@(db)/crm",
		"curl -u crm:§ https://x",
		"mysqldump -u root -p§ crm",
		"sshpass -p § ssh x",
		`password is "§"`,
		`password "§" was refused`,
		"hvs.§",
		"hvs.CAESI§",
		"dckr_pat_§",
		"xapp-§",
		"env: DB_PASS=§ DB_HOST=x",
		"export RESTIC_PASSWORD='§'",
		"RESTIC_PASSWORD_COMMAND=echo §",
		"KOPIA_PASSWORD=§",
		"kopia repository connect s3 --secret-access-key=§",
		"kopia --password=§",
		"restic --password-command 'echo §'",
		"last-applied: {\"apiVersion\":\"v1\",\"data\":{\"k\":\"§\"},\"kind\":\"Secret\"}",
		`kubectl.kubernetes.io/last-applied-configuration: "{\"apiVersion\":\"v1\",\"stringData\":{\"k\":\"§\"}}"`,
		"apiVersion: v1\nkind: Secret\ndata:\n  a: §\n  b: §\ntype: Opaque",
		"kind: Secret stringData: a: §",
		`{"type":"service_account","private_key_id":"§","private_key":"-----BEGIN PRIVATE KEY-----\n§\n-----END PRIVATE KEY-----\n","client_email":"x@y.iam"}`,
		`"private_key": "-----BEGIN PRIVATE KEY-----\nMII§`,
		`private_key_id: §`,
		`"refresh_token": "§"`,
		`"access_token":"§"`,
		"id_token=§",
		"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=§;EndpointSuffix=core",
		"SharedAccessSignature=sv=2020&sig=§",
		"https://acc.blob.core.windows.net/c/b?sv=2021&sr=b&sig=§",
		"BlobEndpoint=https://x;SharedAccessSignature=§",
		"AZURE_STORAGE_KEY=§",
		"AZURE_CLIENT_SECRET: §",
		"AZURE_STORAGE_SAS_TOKEN=§",
		"?sv=2022&sig=§&se=x",
		"sv=2020-08-04&ss=b&sig=§",
		"aws_session_token=§",
		"AWS_SESSION_TOKEN=§",
		"aws_access_key_id = §",
		"[default]\naws_access_key_id=AKIAIOSFODNN7EXAMPLE\naws_secret_access_key=§",
		"x-amz-security-token: §",
		"X-Amz-Security-Token=§",
		"password = §",
		"password  :   §",
		"Password is §",
		"password was §",
		"passwd §",
		"the password § is wrong",
		"pwd=§;",
		"Pwd=§;Server=x",
		"User ID=sa;Password=§;",
		"--secret=§",
		"--secret §",
		"-secret=§",
		"--from-literal=password=§",
		"--from-literal=x=§",
		"--docker-password=§",
		"--client-secret §",
		"ftp://u:§@h/",
		"redis://:§@h:6379/0",
		"amqp://u:§@h",
		"mongodb+srv://u:§@c/db",
		"jdbc:postgresql://h/db?user=x&password=§",
		"jdbc:oracle:thin:u/§@h:1521",
		"https://§@github.com/x",
		"//user:§@host/path",
		"user:§@host:5432",
		"Proxy-Authorization: Basic §",
		"authorization=Bearer §",
		"Authorization: token §",
		"Authorization: ApiKey §",
		"X-Api-Key: §",
		"X-Vault-Token: §",
		"VAULT_TOKEN=§",
		"private-token: §",
		"PRIVATE-TOKEN: §",
		"apikey §",
		"API key: §",
		"api key is §",
		"access key §",
		"secret key: §",
		"secret key is §",
		`{"auths":{"ghcr.io":{"auth":"§"}}}`,
		`.dockerconfigjson: §`,
		`{"username":"u","password":"§","email":"x"}`,
		`password\": \"§\"`,
		`\\\"password\\\":\\\"§\\\"`,
		`map[password:§ user:x]`,
		`map[string]string{"password":"§"}`,
		`Password:§`,
		`{Password:§}`,
		`&{User:u Pass:§}`,
		"passphrase: §",
		"encryption_key=§",
		"encryptionKey: §",
		"sse-c key: §",
		"customerKeyEncryptionFile=§",
		"kms key §",
		"salt=§ ",
		"MYSQL_ROOT_PASSWORD: §",
		"- name: MYSQL_ROOT_PASSWORD\n  value: §",
		"name: API_KEY value: §",
		"- name: X_TOKEN\n      value: \"§\"",
		"htpasswd -b x u §",
		"echo § | docker login --password-stdin",
		"docker login -u u -p § r",
		"mc alias set m https://x AK §",
		"openssl enc -k §",
		"openssl -passin pass:§",
		"curl --user u:§ https://x",
		"curl -H \"Authorization: Bearer §\"",
		"wget --password=§",
		"sshpass -p§ ssh",
		"psql postgresql://u:§@h",
		"redis-cli -a §",
		"mysql -uroot -p§",
		"mongo -u r -p § x",
		"mongodump --password § ",
		"etcdctl --user root:§",
		"ldapsearch -w § -D x",
		"rclone --s3-secret-access-key §",
		"otp: §",
		"pin=§",
		"credential=§",
		"credentials: §",
		"cloud: |\n  [default]\n  aws_secret_access_key=§",
		"bearer: §",
		"bearer_token: §",
		"bearerToken: §",
		"jwt=§",
		"session=§",
		"sessionid=§",
		"csrf=§",
		"nonce=§",
		"connectionString=Server=x;Pwd=§",
		"DATABASE_URL=mysql://u:§@h/d",
		"dsn=u:§@/db",
		"SENTRY_DSN=https://§@sentry.io/1",
		"https://hooks.slack.com/services/T0/B0/§",
		"webhook_url: https://x/§",
		"tls.key: §",
		"tls.key=§",
		"ca.key: §",
		"ssh-privatekey: §",
		"id_rsa: §",
		"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n§",
		"AGE-SECRET-KEY-1§",
		"age-secret-key: §",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n§\n",
		"-----BEGIN PGP MESSAGE-----\n\n§",
		"-----begin rsa private key-----\n§",
		"ключ password=§",
		"password＝§",
		"PASSWORD%3D§",
		"password%3A%20§",
		"password=\n§",
		"password:\n  §",
		"password=\\n§",
		"password=\"a b §\"",
		"password='a b §'",
		"password: a b §",
		"password=x&§",
		"password=(§)",
		"password=<§>",
		"password==§",
		"password:=§",
		"password ➜ §",
		"password\t§",
		"password|§",
		"password -> §",
		"password,§",
		"\"password\",\"§\"",
		"password;§",
		"<password>§</password>",
		"<value>§</value><name>password</name>",
		"<key>password</key><string>§</string>",
	},
	"hunter2": { // in hooks' commands, of the API server about fields, in what Go prints, in blocks
		`["mysqldump","-u","root","-p§","db"]`,
		`[\"mysqldump\",\"-p§\"]`,
		`["redis-cli","-a","§","SAVE"]`,
		`["mongodump","-u","admin","-p","§"]`,
		`["curl","-u","elastic:§","http://es:9200"]`,
		"curl -uelastic:§ http://es:9200",
		`["sqlcmd","-U","sa","-P","§"]`,
		"cqlsh -u cassandra -p §",
		`ALTER USER 'root'@'%' IDENTIFIED BY '§'`,
		`Secret "db" is invalid: data[a]: Invalid value: "§"`,
		`denied the request: spec.apiToken: Invalid value: "§": too weak`,
		`pass="a\"§"`,
		`{\"token\":\"a\\\"§\"}`,
		`password='a''§'`,
		`"token" => "§"`,
		`:token=>"§"`,
		`{"key":"password","value":"§"}`,
		"- value: §\n  name: DB_PASSWORD",
		"token: |\n  §\n",
		`token: |\n  §`,
		"token: !!str §",
		`"tokens":{"a":{"b":"c"},"d":"§"}`,
		"&Secret{Data:map[string][]byte{pw: [104],},StringData:map[string]string{a: §,},}",
		"token\u00a0=\u00a0§",
		"to\u00adken=§",
		"https%3A%2F%2Fu%3A§%40host%2F",
		"SharedKey account:§=",
		"AWS AKIAX:§=",
		`"primaryMasterKey":"§"`,
		"B2_APPLICATION_KEY=§",
		"root_token_id=§",
		"license_key=§",
		"MINIO_ROOT_PASSWORD §",
		"passcode=§",
		"pw=§",
		"Passwort: §",
		"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n§\n---- END SSH2",
	},
	"AKIAIOSFODNN7EXAMPLE":                      {"§", "key § used", "AWSAccessKeyId=§"},
	"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY":  {"§", "the key § was refused"},
	"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln": {"§", "token § expired"},
	"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM5akNDQWQ2Z0F3SUJBZ0lCQURBTg==": {
		"client-certificate-data: §",
		"client-key-data: §",
		"certificate-authority-data: §",
		"§",
	},
	"glpat-abcdefghij1234567890": {"§"},
	"sha256~Zm9vYmFyYmF6cXV4":    {"oc login --token=§", "§"},
}

// TestNoSecretIsInAReport wherever it is planted.
func TestNoSecretIsInAReport(t *testing.T) {
	for secret, around := range secrets {
		for _, text := range around {
			planted := strings.ReplaceAll(text, "§", secret)
			d := New(stuck(planted))
			asJSON, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range []string{d.Markdown(), string(asJSON)} {
				if at := strings.Index(got, secret); at >= 0 {
					t.Errorf("%q is in the report: ...%s...", text, got[max(0, at-80):min(len(got), at+80)])
				}
			}
		}
	}
}

// What names a resource, or says what went wrong, stays.
func TestRedactLeavesTheRest(t *testing.T) {
	for _, text := range []string{
		`secrets "db-credentials" already exists`, "restored 902 of 918 items", "error restoring secrets/crm/db-password-7: not found", "https://10.96.0.1:443/apis/velero.io/v1/namespaces/velero/restores/crm",
		"image velero/velero@sha256:4bb1f7ff3f0a6d8c2f0c6e1a1c1b5c9d8b8fbe2a90c51ff0b2e8f5f4b4f8a111", "0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77", "pkg/controller/restore_controller.go:640", "customresourcedefinitions.apiextensions.k8s.io",
		"PersistentVolumeClaim/very-long-name-of-a-claim-that-goes-on-and-on-0123456789", "the token has expired", `secret: namespaces "x" not found`, `error getting credentials: secrets "cloud-credentials" not found`, "ContainerCannotRunBecauseTheImageIsMissing",
		"sha256:4bb1f7ff3f0a6d8c2f0c6e1a1c1b5c9d8b8fbe2a90c51ff0b2e8f5f4b4f8a111", "docker.io/velero/velero@sha256:4bb1f7ff3f0a6d8c2f0c6e1a1c1b5c9d8b8fbe2a90c51ff0b2e8f5f4b4f8a111", "0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77", "pvc-0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77", "/var/lib/kubelet/pods/0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77/volumes/kubernetes.io~csi/pvc-x/mount",
		"pods \"web-7d9c6b5f84-x2kqp\" not found", "/host_pods/0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77/volumes/data: permission denied", "default-token-abcde", "secret/db-password", "restoring secrets crm/db", "the token review failed", "could not find secret in namespace", "credentials file not found: /credentials/cloud: no such file or directory", "error getting secret key from repository", "unable to decrypt: wrong password or no key found", "authorization failed", "admission webhook \"x.y.io\" denied the request: missing label owner=team-a", "exceeded quota: q, requested: secrets=1, used: secrets=10, limited: secrets=10", "serviceaccounts \"default\" is forbidden: User \"system:serviceaccount:velero:velero\" cannot get resource", "volumesnapshotcontents.snapshot.storage.k8s.io \"snapcontent-0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77\" not found", "MountVolume.SetUp failed for volume \"kube-api-access-x7j2l\" : configmap \"kube-root-ca.crt\" not registered", "time=\"2026-11-20T10:00:00Z\"", "pkg/backup/item_backupper.go:179", "BackupStorageLocation default is in Unavailable status", "ImagePullBackOff: Back-off pulling image \"registry.example.com/team/app:v1.2.3\"", "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }", "arn:aws:s3:::bucket/velero/backups", "s3://bucket/prefix", "namespaces=crm,shop", "labels: map[app:web tier:db]", "rpc error: code = DeadlineExceeded desc = context deadline exceeded", "snap-0123456789abcdef0", "vol-0123456789abcdef0", "projects/my-proj/global/snapshots/gke-x-pvc-0d4b7c3f", "/subscriptions/0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77/resourceGroups/rg/providers/Microsoft.Compute/snapshots/s1",
		"could not restore, Secret:db-1 already exists. Warning: the in-cluster version is different than the backed-up version", "spec.token: Required value: must be set", `Secret "db" is invalid: metadata.name: Invalid value: "Db_1": a name is in lower case`,
		"persistentvolumeclaims.data.metadata", "data: no such file", "data upload failed", "error to initialize data path: kopia repository", "no token found", "cert expired", "DataUpload failed: data path is stopped", "node-agent-7qk2m", "PodVolumeBackup nightly-0123456789-abcde", "AuthorizationPolicy.security.istio.io/allow-all", "configmap/auth-proxy", "the key does not exist: NoSuchKey", "invalid keys: [x]", "ResourceVersionConflict: Operation cannot be fulfilled on restores.velero.io \"crm\": the object has been modified; please apply your changes to the latest version and try again",
	} {
		if got := Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestRedactBeforeCut: where a text is cut, no half of a credential is left.
func TestRedactBeforeCut(t *testing.T) {
	const secret = "hunter2-Pa55"
	for _, text := range []string{strings.Repeat("x ", maxTextRunes/2-8) + "crm:" + secret + "@tcp(db)", strings.Repeat("password=y"+strings.Repeat("y", 90)+" ", maxInputBytes/102) + " crm:" + secret + "@tcp(db)",
		strings.Repeat("x ", maxInputBytes/2-8) + "crm:" + secret + "@tcp(db)"} {
		if got := redactAndCut(text); strings.Contains(got, "hunter") || len([]rune(got)) > maxTextRunes+3 {
			t.Errorf("%d characters: ...%s", len(got), got[max(0, len(got)-100):])
		}
	}
}

// TestReachStays: the way to the cluster holds no credential, and its commands are to work.
func TestReachStays(t *testing.T) {
	const context = "gke_proj_europe-west1_Prod1-cluster-main"
	in := stuck("")
	in.Context = context
	commands := []string{
		"veltui wait restore/crm --context " + context + " --kubeconfig=/home/ops/AbcDef0123456789AbcDef0123456789/Config --as system:serviceaccount:auth:ops -n velero",
		"KUBECONFIG=/a/AbcDef0123456789AbcDef0123456789XY veltui explain restore/crm",
	}
	in.Remaining = []Step{{"Wait.", append(commands, "veltui x --context a --token hunter2-Pa55 --context "+context)}}
	d := New(in)
	if d.Context != context || d.Remaining[0].Commands[0] != commands[0] || d.Remaining[0].Commands[1] != commands[1] ||
		strings.Contains(d.Remaining[0].Commands[2], "hunter2") {
		t.Errorf("%s, %q", d.Context, d.Remaining[0].Commands)
	}
	if len(in.Remaining[0].Commands) != 3 || in.Remaining[0].Commands[0] != commands[0] {
		t.Errorf("the input became %q", in.Remaining)
	}
}

// TestMarkdownHoldsNothingOfOthers but text: whatever they wrote, the report has the same
// lines, and none of its own kind is forged.
func TestMarkdownHoldsNothingOfOthers(t *testing.T) {
	plain := strings.Count(New(stuck("x")).Markdown(), "\n")
	for _, hostile := range []string{
		"\n# forged\n", "\r\n## Why\r\n- forged", "<img src=x onerror=alert(1)>", "<script>", "[x](javascript:alert(1))", "![x](http://evil/x.png)", "| a | b |\n|---|---|", "```\nforged\n```", "` forged `", "``` forged",
		"**forged**", "__forged__", "~~~", "<!-- ", "-->", "&lt;b&gt;", "http://evil.example/x", "www.evil.example", "@everyone", "1. forged", "- forged", "+ forged", "\x1b[31mred", "\u202eforged", "$x$", "[redacted]: http://evil", "\\`forged`", "---", "===",
	} {
		got := New(stuck(hostile)).Markdown()
		if n := strings.Count(got, "\n"); n != plain {
			t.Errorf("%q makes %d lines, want %d", hostile, n, plain)
		}
		checkMarkdown(t, hostile, got)
	}
}

var (
	escaped = regexp.MustCompile(`\\[[:punct:]]`)
)

// checkMarkdown holds when nothing outside of code means anything to Markdown, but what a
// report itself begins a line with.
func checkMarkdown(t *testing.T, hostile, document string) {
	t.Helper()
	for line := range strings.Lines(document) {
		if strings.ContainsAny(line, "\x1b\u202e\r") {
			t.Errorf("%q: a control character in %q", hostile, line)
		}
		outside := withoutCode(escaped.ReplaceAllString(line, ""))
		outside = strings.TrimLeft(strings.ReplaceAll(outside, "**", ""), "# ")
		outside = strings.NewReplacer(" []", "", " [, ", "", "]", "").Replace(outside) // sources stand in brackets
		if found := strings.IndexAny(
			outside,
			"<>#|~!@`",
		); found >= 0 || strings.Contains(outside, "](") || strings.Contains(strings.ToLower(outside), "://") ||
			strings.Contains(strings.ToLower(outside), "www.") {
			t.Errorf("%q: %q", hostile, line)
		}
	}
}

// withoutCode leaves out code: what stands between runs of as many backticks.
func withoutCode(line string) string {
	var out strings.Builder
	for line != "" {
		from := strings.IndexByte(line, '`')
		if from < 0 {
			break
		}
		out.WriteString(line[:from])
		fence := line[from : from+len(line[from:])-len(strings.TrimLeft(line[from:], "`"))]
		rest := line[from+len(fence):]
		end := -1
		for at := 0; at < len(rest); {
			i := strings.IndexByte(rest[at:], '`')
			if i < 0 {
				break
			}
			run := len(rest[at+i:]) - len(strings.TrimLeft(rest[at+i:], "`"))
			if run == len(fence) {
				end = at + i
				break
			}
			at += i + run
		}
		if end < 0 {
			out.WriteString(fence)
			line = rest
			continue
		}
		line = rest[end+len(fence):]
	}
	return out.String() + line
}

// A job that ended with warnings alone has no cause at its head, and no empty lines in its place.
func TestHeadWithoutErrors(t *testing.T) {
	var d Document
	d.Messages.Groups = []results.Message{{Severity: results.Warning, Count: 1}}
	if head, _, _ := strings.Cut(d.Markdown(), "## "); strings.Contains(head, "\n\n\n") {
		t.Errorf("empty lines:\n%q", head)
	}
}
