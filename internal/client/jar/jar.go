// Package jar keeps the cookie of a session that somebody began by logging in.
//
// # Limits
//
// It keeps it in memory, for one client.
package jar

import (
	"net/http"
	"net/http/cookiejar"
)

// For is where a client with that token has cookies: nowhere, since a server takes one
// credential; without a token, in memory.
func For(token string) http.CookieJar {
	if token != "" {
		return nil
	}
	j, err := cookiejar.New(nil)
	if err != nil {
		return nil // then nobody gets in who logs in
	}
	return j
}
