package paddock_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
)

// results draws what gates may have answered, and what no version of ours says.
func results(t *rapid.T) []paddock.GateResult {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) paddock.GateResult {
		r := paddock.GateResult{
			Gate:    rapid.SampledFrom(append(paddock.Gates(), "", "of a later version")).Draw(t, "gate"),
			Verdict: rapid.SampledFrom([]paddock.Verdict{paddock.Pass, paddock.Refuse, paddock.Skipped, paddock.Pass, ""}).Draw(t, "verdict"),
			Detail:  rapid.SampledFrom([]string{"", "4 words", "é\x00\"", "off"}).Draw(t, "detail"),
		}
		if rapid.Bool().Draw(t, "placed") {
			number := rapid.SampledFrom([]int{1, 7, -1, 1 << 40})
			r.Position = &paddock.Position{File: rapid.SampledFrom([]string{"a.yaml", "b.yaml"}).Draw(t, "file"), Line: number.Draw(t, "line"), Column: number.Draw(t, "column")}
		}
		return r
	}), 0, 30).Draw(t, "results")
}

// What was put in comes out, is written as a list of it always was, and read again is
// the same, whatever version says it.
func TestAnswersAreTheirResults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := results(t)
		a := paddock.AnswersOf(in...)
		if out := slices.Collect(a.All()); len(in)+len(out) > 0 && !reflect.DeepEqual(out, in) {
			t.Fatalf("%+v\nbecame\n%+v", in, out)
		}
		if len(in) == 0 {
			in = nil
		}
		want, err := json.Marshal(in)
		got, gotErr := json.Marshal(a)
		if err != nil || gotErr != nil || string(got) != string(want) {
			t.Fatalf("%s is written as\n%s: %v, %v", want, got, err, gotErr)
		}
		var again paddock.Answers
		if err := json.Unmarshal(got, &again); err != nil || !reflect.DeepEqual(again, a) || !again.Equal(a) {
			t.Fatalf("%s read again is\n%+v: %v", got, again, err)
		}
	})
}

// With puts an answer in the place of the one of its gate, and changes nothing for who
// has the answers as they were; nor does who changes what answers were read as.
func TestAnswersStayAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := results(t)
		a := paddock.AnswersOf(in...)
		before := a.String()
		r := paddock.GateResult{Gate: rapid.SampledFrom(paddock.Gates()).Draw(t, "gate"), Verdict: paddock.Refuse, Detail: "no"}
		b := a.With(r)
		for got := range a.All() {
			if got.Position != nil {
				got.Position.File = "changed"
			}
		}
		if a.String() != before || slices.ContainsFunc(slices.Collect(a.All()), func(r paddock.GateResult) bool { return r.Position != nil && r.Position.File == "changed" }) {
			t.Fatalf("%s became %s", before, a)
		}
		want := slices.Clone(in)
		if i := slices.IndexFunc(want, func(was paddock.GateResult) bool { return was.Gate == r.Gate }); i >= 0 {
			want[i] = r
		} else {
			want = append(want, r)
		}
		if got := slices.Collect(b.All()); !reflect.DeepEqual(got, want) || a.Equal(b) != reflect.DeepEqual(in, want) {
			t.Fatalf("%+v\nwith %+v is\n%+v", in, r, got)
		}
		if got, ok := b.Of(r.Gate); !ok || got != r {
			t.Fatalf("of %s there is %+v, %v", r.Gate, got, ok)
		}
	})
}

// Whether < and > are escaped is up to who writes a decision, as with everything in it.
func TestDecisionsAreEscapedByWhoWrites(t *testing.T) {
	t.Parallel()
	d := paddock.Decision{
		Gates:   paddock.AnswersOf(paddock.GateResult{Gate: paddock.GateArgv, Detail: "<1>"}),
		Granted: paddock.Gives(&paddock.Grant{Argv: []string{"<2>"}}),
	}
	for _, escape := range []bool{false, true} {
		var got bytes.Buffer
		e := json.NewEncoder(&got)
		e.SetEscapeHTML(escape)
		err := e.Encode(d)
		if plain := strings.Contains(got.String(), `"<1>"`) && strings.Contains(got.String(), `"<2>"`); err != nil || plain == escape {
			t.Errorf("escaped %v is %s, %v", escape, &got, err)
		}
	}
}

// What a list of answers can't be is an error, and not none.
func TestAnswersOfNonsense(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `"x"`, `[{"gate": 1}]`, `[{"position": {"line": "x"}}]`, `[1]`} {
		var d paddock.Decision
		if err := json.Unmarshal([]byte(`{"gates": `+text+`}`), &d); err == nil {
			t.Errorf("%s is read as %v", text, d.Gates)
		}
	}
}
