package logins

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A login is found at its own server alone, however its address is written, and what isn't
// a login of it is said to be none.
func TestLogins(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := Dir(filepath.Join(dir, "logins"))
	ann := Login{Server: "https://Paddock.example.org:443/", Name: "ann", Token: "pdk_x", ID: "t", Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	if err := d.Keep(ann); err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{
		"https://paddock.example.org": "pdk_x", "https://paddock.example.org/": "pdk_x", "https://PADDOCK.example.org:443": "pdk_x",
		"http://paddock.example.org": "", "https://paddock.example.org:8443": "", "https://paddock.example.org.evil.example": "", "": "", "\x00": "",
	} {
		if l, err := d.Of(server); err != nil || l.Token != want {
			t.Errorf("%q: %+v, %v", server, l, err)
		}
	}
	if l, err := Dir("").Of("https://paddock.example.org"); err != nil || l.Token != "" {
		t.Errorf("%+v, %v", l, err)
	}
	if Dir("").Keep(ann) == nil {
		t.Error("kept nowhere")
	}
	for name, text := range map[string]string{
		"another server's": `{"server":"https://b.example","name":"ann","token":"x","id":"t","expires_at":"2030-01-01T00:00:00Z"}`,
		"a double key":     `{"server":"https://paddock.example.org","token":"x","token":"y"}`,
		"an unknown key":   `{"server":"https://paddock.example.org","token":"x","more":1}`,
		"no token":         `{"server":"https://paddock.example.org"}`,
		"no JSON":          "pdk_x", "nothing": "", "too long": string(make([]byte, mostFile+1)),
	} {
		if err := os.WriteFile(d.path(ann.Server), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := d.Of(ann.Server); err == nil || l.Token != "" {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if err := d.Forget(ann.Server); err != nil {
		t.Error(err)
	}
	if err := d.Forget(ann.Server); !os.IsNotExist(err) {
		t.Error(err)
	}
}
