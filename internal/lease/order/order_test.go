package order_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const id = paddock.RunID("r01kb0000000000000000000000")

func key(t *testing.T) *sign.Key {
	t.Helper()
	k, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func make1(t *testing.T, lasts time.Duration) order.Order {
	t.Helper()
	text := "in"
	o, err := order.New(id, paddock.Request{Principal: paddock.Principal{Kind: paddock.Agent, ID: "a"}, Door: paddock.DoorCLI,
		Command: paddock.Command{Argv: []string{"go", "test"}, Env: map[string]string{"A": "1"}, Timeout: paddock.Duration(time.Minute), Stdin: paddock.Stdin{Text: &text}}}, noon, lasts, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Policy, o.Approval = "sha256:1", "a00-1"
	return o
}

func seal(t *testing.T, o order.Order, k *sign.Key) []byte {
	t.Helper()
	text, err := o.Seal(k)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAnOrderIsReadAsItWasGiven(t *testing.T) {
	k, other := key(t), key(t)
	o := make1(t, time.Hour)
	got, err := order.Open(seal(t, o, k), id, []*sign.Public{&other.Public, &k.Public}, noon)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(o)
	b, _ := json.Marshal(got)
	if !bytes.Equal(a, b) {
		t.Errorf("got  %s\nwant %s", b, a)
	}
}

// TestWhatIsntFollowed plays somebody who can write whatever he likes to the
// database, and has seen orders.
func TestWhatIsntFollowed(t *testing.T) {
	k, other := key(t), key(t)
	o := make1(t, time.Hour)
	good := seal(t, o, k)
	change := func(do func(*order.Order)) []byte {
		changed := o
		do(&changed)
		return seal(t, changed, k)
	}
	for what, tc := range map[string]struct {
		envelope []byte
		id       paddock.RunID
		keys     []*sign.Public
		now      time.Time
		want     error
	}{
		"nothing":               {nil, id, nil, noon, order.ErrForged},
		"an unknown key":        {seal(t, o, other), id, nil, noon, order.ErrForged},
		"no key believed":       {good, id, []*sign.Public{}, noon, order.ErrForged},
		"a byte flipped":        {flip(good), id, nil, noon, order.ErrForged},
		"something behind":      {append(bytes.Clone(good), ' '), id, nil, noon, order.ErrForged},
		"another payload":       {swap(t, good), id, nil, noon, order.ErrForged},
		"a signature of a vote": {must(k.Seal("application/vnd.paddock.approval+json", []byte("{}")).Text()), id, nil, noon, order.ErrForged},
		"another run":           {good, "r01kb0000000000000000000001", nil, noon, order.ErrMeant},
		"no run":                {good, "", nil, noon, order.ErrMeant},
		"another request":       {change(func(o *order.Order) { o.Request.Command.Argv = []string{"rm"} }), id, nil, noon, order.ErrForged},
		"another principal":     {change(func(o *order.Order) { o.Request.Principal.ID = "root" }), id, nil, noon, order.ErrForged},
		"too late":              {good, id, nil, noon.Add(time.Hour), order.ErrExpired},
		"too early":             {good, id, nil, noon.Add(-order.Skew - time.Second), order.ErrExpired},
		"good for years":        {change(func(o *order.Order) { o.Expires = noon.Add(9999 * time.Hour) }), id, nil, noon, order.ErrExpired},
		"no nonce":              {change(func(o *order.Order) { o.Nonce = "" }), id, nil, noon, nil},
		"a path for a nonce":    {change(func(o *order.Order) { o.Nonce = "../../x" }), id, nil, noon, nil},
		"a nonce in capitals":   {change(func(o *order.Order) { o.Nonce = strings.Repeat("AB", 16) }), id, nil, noon, nil},
		"another version":       {change(func(o *order.Order) { o.Version = 2 }), id, nil, noon, nil},
		"not an order":          {must(k.Seal(order.PayloadType, []byte(`{"version":1,"more":1}`)).Text()), id, nil, noon, nil},
		"names twice":           {must(k.Seal(order.PayloadType, []byte(`{"version":1,"version":1}`)).Text()), id, nil, noon, nil},
	} {
		keys := tc.keys
		if keys == nil {
			keys = []*sign.Public{&k.Public}
		}
		got, err := order.Open(tc.envelope, tc.id, keys, tc.now)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || got.Run != "" {
			t.Errorf("%s: got %v, %v", what, got, err)
		}
	}
	for _, lasts := range []time.Duration{0, -1, order.Most + 1} {
		if _, err := order.New(id, paddock.Request{}, noon, lasts, nil); err == nil {
			t.Errorf("an order for %s", lasts)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// flip changes one byte within the signature.
func flip(b []byte) []byte {
	c := bytes.Clone(b)
	at := bytes.Index(c, []byte(`"sig":"`)) + 20
	c[at] ^= 1
	return c
}

// swap puts another payload under the signature.
func swap(t *testing.T, b []byte) []byte {
	t.Helper()
	var e sign.Envelope
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	e.Payload = base64.StdEncoding.EncodeToString(bytes.Replace(payload, []byte("test"), []byte("root"), 1))
	return must(e.Text())
}

func TestAnOrderIsFollowedOnce(t *testing.T) {
	state := t.TempDir()
	o := make1(t, time.Hour)
	var group sync.WaitGroup
	won := make(chan bool, 8)
	for range cap(won) {
		n, err := order.NoncesIn(state)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			switch err := n.Use(o); {
			case err == nil:
				won <- true
			case !errors.Is(err, order.ErrUsed):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Errorf("%d may follow it", len(won))
	}
	n, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, order.NoncesDir, "strange"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.Forget(o.Expires); err != nil {
		t.Fatal(err)
	}
	if err := n.Use(o); !errors.Is(err, order.ErrUsed) {
		t.Error("forgotten while somebody may still believe the order:", err)
	}
	if err := n.Forget(o.Expires.Add(time.Hour + 3*order.Skew)); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(state, order.NoncesDir))
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// What others wrote meanwhile counts, whatever is between their lines; and so do the files
// that earlier versions had for each order.
func TestWhatOthersFollowed(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	one, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	two, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	var all []order.Order
	for i := range 1100 { // more than there is room for at first
		o := make1(t, time.Hour)
		all = append(all, o)
		n := one
		if i%2 > 0 {
			n = two
		}
		if err := n.Use(o); err != nil {
			t.Fatal(err)
		}
	}
	three, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*order.Nonces{one, two, three} {
		for _, o := range all {
			if err := n.Use(o); !errors.Is(err, order.ErrUsed) {
				t.Fatal("an order is followed twice:", err)
			}
		}
	}
	names, err := filepath.Glob(filepath.Join(state, order.NoncesDir, "until-*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	f, err := os.OpenFile(names[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("0123"), 1100*64); err != nil { // whose writer died
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	last := make1(t, time.Hour)
	if err := one.Use(last); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*order.Nonces{one, two, three} {
		if err := n.Use(last); !errors.Is(err, order.ErrUsed) {
			t.Error("behind a torn line:", err)
		}
	}
	old := make1(t, time.Hour)
	if err := os.WriteFile(filepath.Join(state, order.NoncesDir, strconv.FormatInt(old.Expires.Unix(), 10)+"-"+old.Nonce), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := one.Use(old); !errors.Is(err, order.ErrUsed) {
		t.Error("an earlier version followed it:", err)
	}
}
