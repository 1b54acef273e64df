// Package web has the small page of a server: to log in, to see runs, and to watch one
// as it prints. It asks the HTTP door like any other client and knows nothing more.
//
// # Limits
//
// The page is three files that are part of the program; nothing is loaded from
// elsewhere, and its content policy lets nothing be. Output is shown as text and is
// never made part of the document.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Policy is the content security policy of the page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"

//go:embed page
var files embed.FS

// Handler answers with the page and its files. Other paths are for next.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := file(r.URL.Path)
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		data, err := files.ReadFile("page/" + name)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		sum := sha256.Sum256(data)
		etag := `"` + hex.EncodeToString(sum[:8]) + `"`
		h := w.Header()
		h.Set("Content-Security-Policy", Policy)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		h.Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data) // whoever asked is gone then
	})
}

// file is what a path shows. The page itself is at /, at the address of the one-time
// link, whose code is behind the # and so is sent to nobody, and at /login/NAME, where
// the provider of that name sends people back to.
func file(p string) (string, bool) {
	provider, back := strings.CutPrefix(p, "/login/")
	if p == "/" || p == "/login" || back && provider != "" && !strings.Contains(provider, "/") {
		return "index.html", true
	}
	name, ok := strings.CutPrefix(p, "/page/")
	return name, ok && name != "" && !strings.Contains(name, "/") && name != "index.html"
}
