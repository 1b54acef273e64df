// Package approval keeps what a policy's rules ask about: matters that persons are
// asked about, their signed votes, and the runs that were started by them.
//
//	STATE/approvals/ID/ask.json         the matter, when it was asked, a number that no other has
//	STATE/approvals/ID/approve-KEY.json who approved, as an envelope signed with that key
//	STATE/approvals/ID/deny-KEY.json    who denied
//	STATE/approvals/ID/use-N.json       the run that was started by it
//	STATE/approvals/ID/over.json        that it expired, once somebody saw that
//	STATE/approvals/ID/wait-RUN.json    that a run waits for it: see package waiters
//
// A vote is a signature over the digest of ask.json, so it can't be brought to
// another matter, another time of asking or another policy. Which keys count is
// said by the policy that decides when it is used, not by what is kept here. No
// file is ever replaced: the first one of a name wins.
//
// # Limits
//
// The package judges no request: that what is to be started is the matter that was
// approved, to the last fact, is compared by who starts it, and by his digest here.
// Whoever may write to the state directory can't approve, but can take files away:
// a denial, or a use. Which person holds a key is the policy's word; who uses it
// says so himself. Whether a second factor was shown is the word of a server that the
// policy lists: package vouched has its form.
package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/rundir/record/durable"
)

// PayloadType is that of votes in envelopes.
const PayloadType = "application/vnd.paddock.approval+json"

const (
	// MatterVersion is that of matters.
	MatterVersion = 1
	// mostOpen is how many matters of one principal may wait.
	mostOpen = 64
	// keptFor is how long a matter is kept that is over.
	keptFor   = 30 * 24 * time.Hour
	mostVote  = 16 << 10
	mostVotes = 64
	// MostReason is the longest reason of a vote, in bytes.
	MostReason = 500
	// skew is how far the clocks of who asks and who votes may be apart.
	skew = 5 * time.Minute

	askName  = "ask.json"
	overName = "over.json"
)

var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^a[0-9a-f]{20}-[1-9][0-9]{0,5}$`) })

// ParseID returns the id that s is.
func ParseID(s string) (paddock.ApprovalID, error) {
	if !idForm().MatchString(s) {
		return "", fmt.Errorf("%.60q isn't the id of an approval: want the word that paddock approve list shows", s)
	}
	return paddock.ApprovalID(s), nil
}

// Facts is the digest of a matter: equal for matters that are equal in every fact.
func Facts(m paddock.Matter) (paddock.Digest, error) {
	text, err := durable.EncodeJSON(m, true)
	if err != nil {
		return "", err
	}
	return digest("paddock matter v1\n", text), nil
}

func digest(kind string, text []byte) paddock.Digest {
	return paddock.DigestOf(sha256.Sum256(append([]byte(kind), text...)))
}

// ask is the form of ask.json.
type ask struct {
	Version   int            `json:"version"`
	Nonce     string         `json:"nonce"`
	AskedAt   time.Time      `json:"asked_at"`
	ExpiresAt time.Time      `json:"expires_at"`
	Matter    paddock.Matter `json:"matter"`
	// Keys and the numbers are the policy's when it was asked, for who looks at it.
	Keys      []paddock.ApprovalKey      `json:"keys"`
	Verifiers []paddock.ApprovalVerifier `json:"verifiers,omitempty"`
	Approvers int                        `json:"approvers"`
	Uses      int                        `json:"uses"`
	LastsMS   int64                      `json:"lasts_ms"`
}

func (a *ask) FileVersion() int { return a.Version }

func (a *ask) settings() paddock.Approvals {
	return paddock.Approvals{Keys: a.Keys, Verifiers: a.Verifiers, Approvers: a.Approvers, Uses: a.Uses, Expires: a.ExpiresAt.Sub(a.AskedAt), Lasts: time.Duration(a.LastsMS) * time.Millisecond}
}

// Statement is what a vote signs.
type Statement struct {
	Version int            `json:"version"`
	Ask     paddock.Digest `json:"ask"`
	Policy  paddock.Digest `json:"policy"`
	By      string         `json:"by"`
	Approve bool           `json:"approve"`
	Reason  string         `json:"reason,omitempty"`
	Uses    int            `json:"uses,omitempty"`
	At      time.Time      `json:"at"`
	Until   time.Time      `json:"until,omitzero"`
}

// use is the form of use-N.json, over of over.json.
type use struct {
	Version int           `json:"version"`
	Run     paddock.RunID `json:"run"`
	At      time.Time     `json:"at"`
}

func (u *use) FileVersion() int { return u.Version }

type over struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
}

// A Book is the approvals of a state directory.
type Book struct{ dir string }

// In is the Book of the state directory at state.
func In(state string) Book { return Book{filepath.Join(state, "approvals")} }

// Text returns exactly what is signed about id: what a person elsewhere reads with
// [Read], and signs.
func (b Book) Text(id paddock.ApprovalID) ([]byte, error) {
	_, text, err := b.read(id)
	return text, err
}

// Read returns what is asked by the text of a question, as [Book.Text] gives it,
// without anything that was said about it.
func Read(text []byte) (paddock.Approval, error) {
	a, err := parse(text)
	if err != nil {
		return paddock.Approval{}, err
	}
	return paddock.Approval{
		State: paddock.ApprovalWaiting, AskedAt: a.AskedAt, ExpiresAt: a.ExpiresAt,
		Digest: digest("paddock ask v1\n", text), Matter: a.Matter, Approvers: max(1, a.Approvers),
	}, nil
}

func parse(text []byte) (*ask, error) {
	var a ask
	if err := durable.DecodeJSON(text, &a); err != nil {
		return nil, err
	}
	again, err := durable.EncodeJSON(a, true)
	if err != nil || !bytes.Equal(again, text) {
		return nil, errors.New("it isn't written as it was: it was changed")
	}
	return &a, nil
}

// Get returns what is known of id, by the keys that were listed when it was asked.
// The error is fs.ErrNotExist when there is none.
func (b Book) Get(id paddock.ApprovalID, now time.Time) (paddock.Approval, error) {
	a, text, err := b.read(id)
	if err != nil {
		return paddock.Approval{}, err
	}
	return b.stand(id, a, text, a.settings(), now)
}

// Dir is where id is kept, with what others note beside it.
func (b Book) Dir(id paddock.ApprovalID) string { return b.path(id) }

// By is who could approve id when it was asked.
func (b Book) By(id paddock.ApprovalID) (paddock.Approvals, error) {
	a, _, err := b.read(id)
	if err != nil {
		return paddock.Approvals{}, err
	}
	return a.settings(), nil
}

// List returns all that is kept, newest first. What can't be read is left out, and
// told of by the error.
func (b Book) List(now time.Time) ([]paddock.Approval, error) {
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []paddock.Approval
	for _, e := range entries {
		if !idForm().MatchString(e.Name()) {
			continue
		}
		a, badly := b.Get(paddock.ApprovalID(e.Name()), now)
		if badly != nil {
			err = errors.Join(err, durable.IgnoreMissing(badly))
			continue
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b paddock.Approval) int {
		if c := b.AskedAt.Compare(a.AskedAt); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return out, err
}

// read returns ask.json and its text, if it is what its directory says.
func (b Book) read(id paddock.ApprovalID) (*ask, []byte, error) {
	if !idForm().MatchString(string(id)) {
		return nil, nil, fmt.Errorf("%w: %.60q is no id", fs.ErrNotExist, id)
	}
	for _, dir := range []string{b.dir, b.path(id)} {
		info, err := os.Lstat(dir)
		if err != nil {
			return nil, nil, err
		}
		if !info.IsDir() {
			return nil, nil, fmt.Errorf("%s isn't a directory", dir)
		}
	}
	text, err := durable.Read(b.path(id, askName), durable.MaxJSON)
	if err != nil {
		return nil, nil, err
	}
	a, err := parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("approval %s can't be read: %w", id, err)
	}
	facts, err := Facts(a.Matter)
	if err != nil || !strings.HasPrefix(string(id), prefix(facts)) {
		return nil, nil, fmt.Errorf("approval %s is of another matter: it was changed", id)
	}
	return a, text, nil
}

func (b Book) path(id paddock.ApprovalID, name ...string) string {
	return filepath.Join(append([]string{b.dir, string(id)}, name...)...)
}

func prefix(facts paddock.Digest) string { return "a" + facts.Hex()[:20] + "-" }

// KeyText is how a policy lists a key.
func KeyText(k *sign.Public) string {
	return "ed25519:" + base64.StdEncoding.EncodeToString(k.Raw())
}

func keyOf(text string) (*sign.Public, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(text, "ed25519:"))
	if err != nil || len(raw) != 32 || !strings.HasPrefix(text, "ed25519:") {
		return nil, errors.New("it isn't a key: want what paddock approve key prints")
	}
	return sign.PublicOf(raw)
}

// voteName is the file of a key's vote.
func voteName(k *sign.Public, approve bool) string {
	if approve {
		return "approve-" + k.ID()[:32] + ".json"
	}
	return "deny-" + k.ID()[:32] + ".json"
}

func decode(payload []byte) (Statement, error) {
	var s Statement
	if err := json.Unmarshal(payload, &s, json.RejectUnknownMembers(true)); err != nil {
		return s, err
	}
	if s.Version != 1 {
		return s, fmt.Errorf("it has version %d and this paddock knows only 1", s.Version)
	}
	return s, nil
}
