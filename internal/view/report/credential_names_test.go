package report

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCredentialsByName plants a value behind names of many kinds and languages, in all the
// shapes in which texts assign one.
func TestCredentialsByName(t *testing.T) {
	const secret = "hunter2-Pa55"
	passwords := []string{
		"password",
		"dbPassword",
		"PG_PASSWORD",
		"mysqlpwd",
		"db-pw",
		"admin_pwd",
		"passphrase",
		"pass phrase",
		"Passwort",
		"Kennwort",
		"DatenbankPasswort",
		"contraseña",
		"contrasen\u0303a",
		"Contraseña",
		"CONTRASEÑA_DB",
		"mot de passe",
		"motDePasse",
		"MOT_DE_PASSE",
		"mdp",
		"senha",
		"parola",
		"wachtwoord",
		"lösenord",
		"hasło",
		"пароль",
		"Пароль",
		"密码",
		"数据库密码",
		"密碼",
		"口令",
		"パスワード",
		"DBパスワード",
		"비밀번호",
	}
	shapes := []string{
		"§: @",
		"§=@",
		`§ = "@"`,
		`"§": "@"`,
		"§：@",
		"§ -> @",
		"the § is @",
		"§ @",
		`--§ @`,
		"- --§\n- @",
		`["--§", "@"]`,
		"args:\n    - --§\n    - \"@\"\n",
		`{"msg":"bad §=@"}`,
		"§ for user root: @",
		"§ of db: @",
		`Invalid value: "@": spec.§`,
		`Invalid value: "@": spec.db[0].§`,
		`spec.§: Invalid value: "@": too short`,
		"level=error msg=\"§=@ rejected\"",
	}
	n := 0
	check := func(name, shape string) {
		n++
		text := strings.NewReplacer("§", name, "@", secret).Replace(shape)
		got := Redact(text)
		if strings.Contains(got, "hunter2") || strings.Contains(got, "Pa55") {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, name := range passwords {
		for _, shape := range shapes {
			if strings.Contains(name, " ") && (strings.Contains(shape, "--") || strings.Contains(shape, "spec.")) {
				continue // no flag and no field has spaces
			}
			check(name, shape)
		}
	}
	for _, name := range []string{"VELERO_S3_KEY", "S3_KEY", "s3Key", "aws_key", "MINIO_KEY", "SSH_KEY", "creds", "dbCreds", "DB_CRED", "tok", "AUTH_TOK", "userTok", "clave", "密钥"} {
		for _, shape := range []string{"§=@", `§="@"`, `export §=@`, `{"§":"@"}`, "§: @", "--§ @", "- --§\n- @", "--§=@"} {
			check(name, shape)
		}
	}
	// Words that look like nothing are taken out where they are assigned.
	for _, text := range []string{"VELERO_S3_KEY=hunter", "creds=hunter", "tok=hunter", "password for user root: hunter", "contraseña: hunter", "пароль=hunter", "パスワード：hunter", `Invalid value: "hunter": spec.password`,
		"- --db-password\n- hunter", "- --db-contraseña\n- hunter", "mot de passe: hunter", "mot de passe pour root : hunter", "das Passwort für root: hunter", "пароль для root: hunter", "pass phrase for key.pem: hunter", "--db-password hunter", "--db-password \\\n  hunter", "- name: VELERO_S3_KEY\n  value: hunter", `{"name":"VELERO_S3_KEY","value":"hunter"}`, `password for "root" is hunter2x`, `password of user root is "hunter"`, "la contraseña de root es hunter2x",
		"密码是hunter2x", "パスワードはhunter2xです", "密码「hunter2x」", "Kennwort lautet hunter2x", "паролем hunter2x", "Zugangsdaten: hunter2x", "identifiants: hunter2x", "geheim=hunter", "секрет=hunter", "токен: hunter2x", "令牌: hunter2x", "トークン: hunter2x", "secreto=hunter", "jeton=hunter", "密钥：hunter2x", "MYSQL_PASS: hunter", "pass: hunter", "PGPASS=hunter", `{"pass":"hunter"}`, `{"dbPass": "hunter"}`, "db_pass=hunter", "-e DB_PASS=hunter"} {
		n++
		if got := Redact(text); strings.Contains(got, "hunter") {
			t.Errorf("%q became %q", text, got)
		} else if strings.HasPrefix(text, "- --") && !strings.Contains(got, "\n- [redacted]") {
			t.Errorf("%q became %q: the list is no list any more", text, got)
		}
	}
	for _, token := range []string{"s.iyNUhq8Ov4hIAx6snw5mB2nL", "hvs.CAESIJlWhVxX0Qy3g1", "hvb.AAAAAQJ2fYdTnbGgZ3", "b.AAAAAQL9x0Yd3kq1ZnP4uVw7"} {
		for _, shape := range []string{"@", "vault login @", "X: @", `"client_token @"`} {
			n++
			if got := Redact(strings.ReplaceAll(shape, "@", token)); strings.Contains(got, token[3:]) {
				t.Errorf("%q in %q became %q", token, shape, got)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d samples", n)
	}
}

// TestLogsStayReadable leaves what Velero and Kubernetes write in their logs as it is,
// above all where it speaks of credentials.
func TestLogsStayReadable(t *testing.T) {
	for _, line := range []string{
		"error restoring secrets/crm/db-password-7: not found", "failed to get password: not found", "error getting password: EOF", "password for repository: timeout", "wrong password or no key found: exit status 1",
		"password for repository is incorrect: cannot open", "the password is wrong", "password is required", "passwords do not match", "unable to read password file: no such file or directory",
		"secret db-password already exists", `secrets "db-password" not found`, "Restoring resource 'secrets' into namespace 'crm'", "Attempting to restore Secret: db-password", "Skipping secret db-creds: already exists", "restore secret crm/s3-creds",
		"key=velero/nightly-20261123", "key=crm/web-0", "primaryKey=id", "sortKey=name", "cacheKey=backups", "label key: app", "key app.kubernetes.io/name not found", "invalid keys [x]; valid keys are [y]", "topologyKey: kubernetes.io/hostname", "topologyKey=topology.kubernetes.io/zone",
		`toleration: key="node-role.kubernetes.io/control-plane" operator="Exists"`, "zone info from nodeAffinity requirements: eu-west-1a, key: topology.kubernetes.io/zone", "secretKeyRef not resolved", "auth with the storage account access key", "no storage key with Full permissions found",
		"error resolving creds from profile 'default': file not found", "creds not found", "creds: not set", "error creating temp credentials file", "no credential for location default", "pass 2 of 3", "pass: 12 of 14", "hasLogs: true", "hasLocation=eu", "alphaSlot: 3", "passwordPolicy: strict", "password_file=/etc/pw", "contraseña_length=12", "passwordRef: db", "PASSWORD_REQUIRED=yes", "passwordless=true", "tests pass: true",
		"the parole board", "bypass=true", "bypass: enabled", "compass: north", "passing: 3", "token review: allowed", "tok", "Tokyo=1", "stockholm=x", "monkey=banana", "hotkey: none", "turkey: 3", "keyboard=us", "credit=3", "accredited: yes",
		"Passed: all checks", "passthrough=true", "la clave no existe", "la contraseña no es correcta", "le mot de passe est vide", "пароль неверный", "密码错误", "パスワードが違います", "das Passwort ist falsch", "Passwort für root: fehlt",
		`Invalid value: "Db_1": metadata.name`, `Invalid value: "5Gi": spec.resources.requests.storage`, `spec.clusterIP: Invalid value: "10.96.0.5": field is immutable`, `Invalid value: "x": spec.keyboard`,
		"s.kubernetes.io", "pods.metrics.k8s.io", "s.example.com/path", "--from-backup nightly-20261123", "--include-namespaces crm,shop", "- --log-level\n- debug", "- --tokenizer\n- standard", "- --features\n- EnableCSI",
		"restic repository is not ready: password: EOF", "mdp-service=running", "psw", "motto: x", "passenger=1", "sifreless", "heslo", "key: value", "S3 key prefix: backups/nightly", "object key=backups/nightly/velero-backup.json",
	} {
		if got := Redact(line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}

// TestRecordedLogsStayReadable reads the logs of a real Velero that the demo shows.
func TestRecordedLogsStayReadable(t *testing.T) {
	files, err := filepath.Glob("../../demo/recordings/stored/*/*/*Log.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	lines := 0
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		scanner := bufio.NewScanner(unzipped)
		scanner.Buffer(nil, 1<<20)
		seen := map[string]bool{}
		for scanner.Scan() {
			_, message, _ := strings.Cut(scanner.Text(), "msg=")
			if seen[message] || len(seen) >= 400 {
				continue
			}
			seen[message] = true
			lines++
			if got := Redact(message); got != message {
				t.Errorf("%q became %q", message, got)
			}
		}
		if err := scanner.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if lines < 60 {
		t.Errorf("only %d lines", lines)
	}
}
