package reports

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"testing"
)

func valuesOf(secrets []Secret) []string {
	var all []string
	for _, one := range secrets {
		all = append(all, one.Value)
	}
	slices.Sort(all)
	return all
}

func TestEnvironmentSecrets(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string][]string{
		"GITHUB_TOKEN=s3cr3t-of-ci":                             {"s3cr3t-of-ci"},
		"DB_PASSWORD=correct horse battery staple":              {"correct horse battery staple"},
		"apiKey=abcd1234":                                       {"abcd1234"},
		"PLAIN=ghp_16C7e42F292c6912E7710c838347Ae178B4a":        {"ghp_16C7e42F292c6912E7710c838347Ae178B4a"},
		"TENANT=3fa85f64-5717-4562-b3fc-2c963f66afa6":           {"3fa85f64-5717-4562-b3fc-2c963f66afa6"},
		"DATABASE_URL=postgres://app:pa55word@db:5432/app":      {"pa55word"},
		"HOOK=https://hooks.example/T0/B1a2b3c4d5e6f7g8h9i0/in": {"B1a2b3c4d5e6f7g8h9i0"},
		// Words, paths and settings are not secrets, even if their names say so.
		"AUTH_TYPE=oauth2-2025": nil, "TOKEN=true": nil, "API_KEY=tools": nil, "SECRET=initialize": nil, "KEY=2025-11-25": nil, "PASSWORD=hunter": nil,
		"POSTGRES_PASSWORD=postgres": nil, "TOKEN_FILE=/run/secrets/t0k3n": nil, "SSH_AUTH_SOCK=/tmp/ssh-1a2b3c4d5e/agent.1": nil, "KEY=": nil, "TOKEN": nil,
		"PATH=/usr/local/bin:/usr/bin:/bin": nil, "PWD=/work/a1b2c3d4e5f6a7b8c9d0": nil, "KEYBOARD=us-104-layout1": nil, "MONKEY=a1b2c3d4": nil,
		"GOFLAGS=-mod=mod -trimpath": nil, "LANG=en_US.UTF-8": nil, "HOSTNAME=ip-10-0-0-1.eu-west-1.compute.internal": nil,
		"VERSION=v0.0.0-20260321001828-e3e3800016bc": nil, "STARTED=2026-11-26T10:00:00.000000Z": nil, "NAME=resourceTemplatesListChanged2": nil,
		"LS_COLORS=rs=0:di=01;34:ln=01;36:mh=00:pi=40;33": nil, "IMAGE=registry.example/team/server-with-a-long-name:1.2.3": nil, "NUMBER=12345678901234567890": nil,
	} {
		if got := valuesOf(EnvironmentSecrets([]string{variable})); !slices.Equal(got, want) {
			t.Errorf("%s: %q, wanted %q", variable, got, want)
		}
	}
}

func TestArgumentSecrets(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ arguments, want []string }{
		"a flag with a value":   {[]string{"node", "server.js", "--api-key=k3y-of-mine", "-v"}, []string{"k3y-of-mine"}},
		"a flag before a value": {[]string{"./server", "--token", "t0k3n-of-mine", "serve"}, []string{"t0k3n-of-mine"}},
		"a variable":            {[]string{"env", "SECRET_KEY=k3y-of-mine", "server"}, []string{"k3y-of-mine"}},
		"by its looks":          {[]string{"server", "sk-a1b2c3d4e5f6g7h8i9j0k1l2"}, []string{"sk-a1b2c3d4e5f6g7h8i9j0k1l2"}},
		"a URL":                 {[]string{"proxy", "https://a.example/mcp/a1b2c3d4e5f6g7h8i9j0k1l2?key=k3y-of-mine&page=next"}, []string{"a1b2c3d4e5f6g7h8i9j0k1l2", "k3y-of-mine"}},
		"none":                  {[]string{"npx", "-y", "@modelcontextprotocol/server-everything@2025.11.25", "stdio", "--token", "--verbose", "--key-file", "a1b2c3d4", "http://127.0.0.1:3000/mcp"}, nil},
	} {
		if got := valuesOf(ArgumentSecrets(one.arguments)); !slices.Equal(got, one.want) {
			t.Errorf("%s: %q, wanted %q", name, got, one.want)
		}
	}
}

// Most tokens of random characters are known by their looks.
func TestRandomLooksRandom(t *testing.T) {
	t.Parallel()
	missed := 0
	const all = 2000
	for i := range all {
		key := make([]byte, 24)
		_, _ = rand.Read(key)
		token := hex.EncodeToString(key)
		if i%2 == 0 {
			token = base64.RawURLEncoding.EncodeToString(key)
		}
		if len(random(token)) == 0 {
			missed++
		}
	}
	if missed > all/6 {
		t.Errorf("%d of %d are missed", missed, all)
	}
}
