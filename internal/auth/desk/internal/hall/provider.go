package hall

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"

	"paddock/internal/auth"
	"paddock/internal/outbound"
	"paddock/internal/store"
)

// A Provider is somebody else's server that says who people are, as the operator
// configured it.
type Provider struct {
	// Name is the operator's, short: it stands in invitations and in the URL that is
	// come back to.
	Name string
	// Kind is `oidc` or `github`.
	Kind string
	// Issuer is the URL of an OpenID provider; or of GitHub, where empty is
	// https://github.com.
	Issuer string
	// API is where GitHub tells of users; empty is https://api.github.com.
	API                    string
	ClientID, ClientSecret string
	// Redirect is the URL of ours that is come back to, exactly as it is registered there.
	Redirect string
	// Inside lists hosts of the provider, as host:port, that may have addresses that
	// aren't public.
	Inside []string
	// Access says that access tokens of it are taken, by programs.
	Access bool
	// Roots are the authorities by which its certificates are believed; nil is the system's.
	Roots *x509.CertPool
}

// InviteeWord is how an invitation names somebody: a provider, and what that calls him.
func InviteeWord(provider, key string) string { return provider + " " + key }

// InviteeCode is the digest by which the invitation of whom a provider calls key is
// found. Nobody can show a word that has it: words have another form.
func InviteeCode(provider, key string) store.Hash {
	return sha256.Sum256([]byte("paddock invitee\n" + InviteeWord(provider, key)))
}

// InviteeKey is the form in which people are invited and compared: a kind, and a value
// of ASCII in lower case, or nothing.
func InviteeKey(kind, value string) string {
	if value == "" || len(value) > 200 {
		return ""
	}
	for _, c := range []byte(value) {
		if c <= ' ' || c > '~' {
			return "" // what looks alike to people might not be the same
		}
	}
	if kind != "sub" {
		value = strings.ToLower(value)
	}
	return kind + ":" + value
}

// An Ask is what is sent to a provider and must be the same in its answer.
type Ask struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// A Proof is whom a provider says that somebody is.
type Proof struct {
	Issuer, Subject string
	// Keys are by what he may have been invited, as [InviteeKey] gives them.
	Keys []string
	// Label is for people to read, Suggests what his name could be like.
	Label, Suggests string
}

// ErrProvider wraps why a provider couldn't be asked: nobody here did anything wrong.
var ErrProvider = errors.New("the provider can't be asked")

// ErrDenied wraps why a provider's answer proves nothing.
var ErrDenied = errors.New("it proves nothing")

// Exchanged says what an error of an exchange of a code means: that the provider denies
// it, or that it can't be asked. What the provider says in full isn't repeated: there may
// be secrets in it.
func Exchanged(err error) error {
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if said.Response != nil && said.Response.StatusCode >= 500 {
			return fmt.Errorf("the provider answers %s", said.Response.Status)
		}
		return fmt.Errorf("%w: the provider doesn't take the code (%s)", ErrDenied, auth.Label(said.ErrorCode))
	}
	return err
}

// Outbound is the client that providers are asked by.
func (h *Hall) Outbound(inside []string, roots *x509.CertPool) *http.Client {
	return outbound.Client(inside, roots)
}
