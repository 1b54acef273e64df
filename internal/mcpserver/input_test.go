package mcpserver

import (
	"strings"
	"testing"

	"paddock"
	"paddock/internal/mcpserver/answer"
)

const someID = "r0000000000aaaaaaaaaaaaaaaa"

// hostile are arguments that no tool may take; the schema must refuse all that
// a schema can see.
var hostile = []struct {
	name, tool, args string
	want             string // in the message
	unseen           bool   // not visible to a JSON Schema
}{
	{"no argv", "run_command_bg", `{}`, "argv is missing", false},
	{"null argv", "run_command_bg", `{"argv":null}`, "argv is null", false},
	{"argv is a shell line", "run_command_bg", `{"argv":"go vet ./... && echo done"}`, "argv must be an array of strings, not a string", false},
	{"argv is an object", "run_command_bg", `{"argv":{"0":"go"}}`, "argv must be an array", false},
	{"argv holds a number", "run_command_bg", `{"argv":["sleep",5]}`, "argv[1] must be a string, not a number", false},
	{"argv holds null", "run_command_bg", `{"argv":["sleep",null]}`, "argv[1] is null", false},
	{"argv holds an array", "run_command_bg", `{"argv":[["go"]]}`, "argv[0] must be a string", false},
	{"unknown field", "run_command_bg", `{"argv":["go"],"shell":true}`, "no field shell; this tool takes argv, cwd,", false},
	{"other capitals", "run_command_bg", `{"Argv":["go"]}`, "no field Argv", false},
	{"proto", "run_command_bg", `{"argv":["go"],"__proto__":{}}`, "no field __proto__", false},
	{"cwd is a number", "run_command_bg", `{"argv":["go"],"cwd":5}`, "cwd must be a string", false},
	{"cwd with NUL", "run_command_bg", `{"argv":["go"],"cwd":"a\u0000b"}`, "cwd contains a NUL", true},
	{"label with NUL", "run_command_bg", `{"argv":["go"],"label":"a\u0000b"}`, "label contains a NUL", true},
	{"key with NUL", "run_command_bg", `{"argv":["go"],"idempotencyKey":"\u0000"}`, "idempotencyKey contains a NUL", true},
	{"timeout zero", "run_command_bg", `{"argv":["go"],"timeoutMs":0}`, "timeoutMs is 0", false},
	{"timeout negative", "run_command_bg", `{"argv":["go"],"timeoutMs":-1}`, "timeoutMs is -1", false},
	{"timeout overflows", "run_command_bg", `{"argv":["go"],"timeoutMs":9223372036855}`, "want 1 to 9223372036854", true},
	{"timeout overflows 64 bits", "run_command_bg", `{"argv":["go"],"timeoutMs":18446744073709551617}`, "timeoutMs must be a whole number", true},
	{"timeout is a float", "run_command_bg", `{"argv":["go"],"timeoutMs":1.5}`, "without fraction", false},
	{"timeout is a whole float", "run_command_bg", `{"argv":["go"],"timeoutMs":1000.0}`, "without fraction", true},
	{"timeout is an exponent", "run_command_bg", `{"argv":["go"],"timeoutMs":1e3}`, "without fraction", true},
	{"timeout is a string", "run_command_bg", `{"argv":["go"],"timeoutMs":"1000"}`, "timeoutMs must be a whole number, not a string", false},
	{"timeout is null", "run_command_bg", `{"argv":["go"],"timeoutMs":null}`, "timeoutMs is null", false},
	{"output limit zero", "run_command_bg", `{"argv":["go"],"outputLimit":0}`, "outputLimit is 0", false},
	{"env is an array", "run_command_bg", `{"argv":["go"],"env":["A=b"]}`, "env must be an object", false},
	{"env holds a number", "run_command_bg", `{"argv":["go"],"env":{"A":1}}`, "env.A must be a string", false},
	{"env name with NUL", "run_command_bg", `{"argv":["go"],"env":{"A\u0000":"b"}}`, "NUL", true},
	{"env value with NUL", "run_command_bg", `{"argv":["go"],"env":{"A":"\u0000"}}`, "env.A contains a NUL", true},
	{"env says a name twice", "run_command_bg", `{"argv":["go"],"env":{"A":"1","A":"2"}}`, "duplicate name", false},
	{"stdin is text", "run_command_bg", `{"argv":["cat"],"stdin":"hello"}`, "stdin must be an object", false},
	{"stdin is empty", "run_command_bg", `{"argv":["cat"],"stdin":{}}`, "0 of text, file and taskId", true},
	{"stdin is twofold", "run_command_bg", `{"argv":["cat"],"stdin":{"text":"","file":"x"}}`, "2 of text, file and taskId", true},
	{"stdin unknown field", "run_command_bg", `{"argv":["cat"],"stdin":{"from":"x"}}`, "no field stdin.from", false},
	{"stdin stream alone", "run_command_bg", `{"argv":["cat"],"stdin":{"text":"x","stream":"stdout"}}`, "goes with", true},
	{"stdin combined", "run_command_bg", `{"argv":["cat"],"stdin":{"taskId":"` + someID + `","stream":"combined"}}`, "stdin.stream is", false},
	{"arguments are an array", "run_command_bg", `["go"]`, "must be an object, not an array", false},
	{"arguments are a string", "run_command_bg", `"go"`, "must be an object, not a string", false},
	{"arguments are null", "run_command_bg", `null`, "argv is missing", false},

	{"no task", "command_status", `{}`, "taskId is missing", false},
	{"task is a number", "command_status", `{"taskId":5}`, "taskId must be a string", false},
	{"task is empty", "command_status", `{"taskId":""}`, "taskId is missing", true},
	{"wait negative", "command_status", `{"taskId":"` + someID + `","waitMs":-1}`, "waitMs is -1", false},
	{"wait is a boolean", "command_status", `{"taskId":"` + someID + `","waitMs":true}`, "waitMs must be a whole number, not a boolean", false},
	{"task_id", "command_status", `{"task_id":"` + someID + `"}`, "no field task_id", false},

	{"output of none", "command_output", `{}`, "taskId is missing", false},
	{"stream unknown", "command_output", `{"taskId":"` + someID + `","stream":"both"}`, "want stdout, stderr or combined", false},
	{"limit zero", "command_output", `{"taskId":"` + someID + `","limit":0}`, "limit is 0; want 1 to 200000", false},
	{"limit too high", "command_output", `{"taskId":"` + someID + `","limit":200001}`, "limit is 200001; want 1 to 200000", false},
	{"offset negative", "command_output", `{"taskId":"` + someID + `","offset":-1}`, "offset is -1", false},
	{"line zero", "command_output", `{"taskId":"` + someID + `","line":0}`, "line is 0", false},
	{"tail zero", "command_output", `{"taskId":"` + someID + `","tail":0}`, "tail is 0", false},
	{"two beginnings", "command_output", `{"taskId":"` + someID + `","tail":5,"offset":1}`, "only one of", true},
	{"raw is a string", "command_output", `{"taskId":"` + someID + `","raw":"yes"}`, "raw must be a boolean", false},
	{"grep too long", "command_output", `{"taskId":"` + someID + `","grep":"` + strings.Repeat("x", 1001) + `"}`, "grep is longer", false},
	{"artifact of none", "retrieve_context", `{}`, "artifactId is missing", false},
	{"artifact by another name", "retrieve_context", `{"taskId":"` + someID + `"}`, "no field taskId; this tool takes artifactId, stream, offset, limit, raw, waitMs", false},
	{"stream of an artifact", "retrieve_context", `{"artifactId":"` + someID + `","stream":"both"}`, "want stdout, stderr or combined", false},
	{"limit of an artifact", "retrieve_context", `{"artifactId":"` + someID + `","limit":200001}`, "want 1 to 200000", false},
	{"offset of an artifact", "retrieve_context", `{"artifactId":"` + someID + `","offset":-1}`, "offset is -1", false},
	{"artifact is null", "retrieve_context", `{"artifactId":null}`, "artifactId is null", false},
	{"wait for an artifact", "retrieve_context", `{"artifactId":"` + someID + `","waitMs":-5}`, "waitMs is -5", false},
	{"wait of output negative", "command_output", `{"taskId":"` + someID + `","waitMs":-5}`, "waitMs is -5", false},

	{"kill none", "command_kill", `{}`, "taskId is missing", false},
	{"kill by number", "command_kill", `{"taskId":"` + someID + `","signal":9}`, "signal must be a string", false},
	{"kill with STOP", "command_kill", `{"taskId":"` + someID + `","signal":"STOP"}`, "want one of TERM, INT, HUP, KILL", false},
	{"kill with SIGTERM", "command_kill", `{"taskId":"` + someID + `","signal":"SIGTERM"}`, "want one of", false},
	{"kill for two lines", "command_kill", `{"taskId":"` + someID + `","reason":"a\nb"}`, "one line", true},
	{"kill for ever", "command_kill", `{"taskId":"` + someID + `","reason":"` + strings.Repeat("x", 501) + `"}`, "500 bytes", true},

	{"list too many", "command_list", `{"limit":201}`, "limit is 201; want 1 to 200", false},
	{"list before nonsense", "command_list", `{"before":"../../x"}`, "before is", true},
	{"list active by name", "command_list", `{"active":"true"}`, "active must be a boolean", false},
}

func TestHostileArguments(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	in, out := schemas(t, c)
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			r := c.call(test.tool, test.args)
			got := parse[answer.Refusal](t, r.Structured)
			if !r.IsError || got.Code != paddock.InvalidRequest || !strings.Contains(got.Message, test.want) {
				t.Errorf("got %v %+v\nwant invalid_request with %q", r.IsError, got, test.want)
			}
			if err := validate(out[test.tool], r.Structured); err != nil {
				t.Errorf("the refusal isn't what the schema promises: %v", err)
			}
			if seen := validate(in[test.tool], []byte(test.args)) != nil; seen == test.unseen {
				t.Errorf("the schema refuses: %t, want %t", seen, !test.unseen)
			}
		})
	}
	if len(f.asked)+len(f.killed) != 0 {
		t.Error("something was done")
	}
}

func TestGoodArgumentsFitTheSchema(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	in, _ := schemas(t, c)
	id := f.add(me, "x")
	f.change(id, func(r *fakeRun) { r.exit(0) })
	for _, test := range [][2]string{
		{"run_command_bg", `{"argv":[]}`}, // the policy's to refuse, with its own code
		{"run_command_bg", `{"argv":["a"],"timeoutMs":9223372036854,"env":{},"stdin":{"text":"\u0000"},"cwd":"","label":""}`},
		{"command_status", taskArgs(id, `,"waitMs":0`)},
		{"command_status", taskArgs(id, `,"waitMs":9000000000000000`)},
		{"command_output", taskArgs(id, `,"limit":200000,"offset":0,"line":1,"raw":false,"grep":""`)},
		{"retrieve_context", `{"artifactId":"` + string(id) + `","limit":1,"offset":0,"stream":"stderr","raw":true,"waitMs":0}`},
		{"command_kill", taskArgs(id, `,"signal":"HUP"`)},
		{"command_list", `{"limit":200,"active":false,"before":""}`},
	} {
		if r := c.call(test[0], test[1]); r.IsError {
			t.Errorf("%s %s: %s", test[0], test[1], r.Content[0].Text)
		}
		if err := validate(in[test[0]], []byte(test[1])); err != nil && test[1] != `{"argv":[]}` {
			t.Errorf("%s %s: %v", test[0], test[1], err)
		}
	}
}

// Ten thousand words reach the policy, whose refusal is better than ours.
func TestManyWordsReachThePolicy(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	ok[answer.Started](c, "run_command_bg", `{"argv":["x"`+strings.Repeat(`,"y"`, 9999)+`]}`)
	if n := len(f.asked[0].Command.Argv); n != 10_000 {
		t.Errorf("%d words", n)
	}
}
