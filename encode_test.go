package paddock

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// encoded is what the digest of a request was defined by: encoding/json's words.
func encoded(t failing, r Request) string {
	text, err := json.Marshal(struct {
		Principal Principal `json:"principal"`
		Command   Command   `json:"command"`
		Room      string    `json:"room,omitempty"`
	}{r.Principal, r.Command, r.Room})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type failing interface{ Fatal(args ...any) }

func TestDigestEncoding(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.StringN(0, 12, -1), rapid.SampledFrom([]string{
		"", "a", "<&>", `"\`, "\x00\x1f\x7f", "\xff\xfe", "\u2028\u2029", "é", strings.Repeat("x", 3000),
	}), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }))
	words := rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(word, 0, 5))
	vars := rapid.OneOf(rapid.Just(map[string]string(nil)), rapid.MapOfN(word, word, 0, 4))
	number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64(), rapid.Int64Range(-2e6, 2e6))
	rapid.Check(t, func(t *rapid.T) {
		s := word.Draw(t, "text")
		text := &s
		if rapid.Bool().Draw(t, "no text") {
			text = nil
		}
		r := Request{
			Principal: Principal{Kind: PrincipalKind(word.Draw(t, "kind")), ID: word.Draw(t, "id")}, Room: word.Draw(t, "room"),
			Command: Command{
				Argv: words.Draw(t, "argv"), Dir: word.Draw(t, "dir"), Workspace: word.Draw(t, "workspace"),
				Env: vars.Draw(t, "env"), ReplaceEnv: vars.Draw(t, "replaced"),
				Stdin:   Stdin{Text: text, File: word.Draw(t, "file"), Run: RunID(word.Draw(t, "run")), Stream: Stream(word.Draw(t, "stream"))},
				Timeout: Duration(number.Draw(t, "timeout")), Idle: Duration(number.Draw(t, "idle")),
				OutputLimit: number.Draw(t, "output"), DiskLimit: number.Draw(t, "disk"), Label: word.Draw(t, "label"),
			},
		}
		if got, want := string(r.appendJSON(nil)), encoded(t, r); got != want {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
	})
}

// A field that is added and not encoded would be judged and not digested.
func TestDigestHasEveryField(t *testing.T) {
	t.Parallel()
	r := Request{Room: "git"}
	fill(reflect.ValueOf(&r.Principal).Elem())
	fill(reflect.ValueOf(&r.Command).Elem())
	if got, want := string(r.appendJSON(nil)), encoded(t, r); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// fill gives every field a value that isn't left out.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Int:
		v.SetInt(7)
	case reflect.Int64:
		v.SetInt(int64(7_000_000))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	}
}
