package conf

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/token"
	"paddock/internal/httpapi/settings"
)

// Operator is a gate for who has the token of the token_file; nil if there is none.
func Operator(s settings.Settings) (gate.Gate, error) {
	word, err := Token(s)
	if err != nil || word == "" {
		return nil, err
	}
	return token.New(word)
}

// Logger writes what a server says while it serves.
func Logger(d *desk.Desk, s settings.Settings) *slog.Logger {
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(d.Err, nil))
	}
	return slog.New(slog.NewTextHandler(d.Err, nil))
}

// An opening is what a server says when it is ready.
type opening struct {
	Address string    `json:"address"`
	URL     string    `json:"url"`
	Login   string    `json:"login_url,omitempty"`
	Until   time.Time `json:"login_until,omitzero"`
}

// Welcome prints where the server is, and the link to log in with if there is one. The code is behind
// the #, so no browser sends it to anybody as part of an address.
func Welcome(d *desk.Desk, s settings.Settings, at net.Addr, code string, until time.Time) {
	url := strings.TrimSuffix(s.PublicURL, "/")
	if url == "" {
		scheme := "http"
		if s.Cert != "" {
			scheme = "https"
		}
		url = scheme + "://" + at.String()
	}
	o := opening{Address: at.String(), URL: url}
	if code != "" {
		o.Login, o.Until = url+"/login#"+code, until.UTC()
	}
	if d.JSON {
		_ = d.Object(o) // nobody reads it then, and the server serves
		return
	}
	fmt.Fprintf(d.Out, "paddock serves %s\n", o.URL)
	if code != "" {
		fmt.Fprintf(d.Out, "log in once, within an hour: %s\n", o.Login)
	}
}
