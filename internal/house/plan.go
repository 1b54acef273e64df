package house

// The plan of the house. It is a statement of policy: don't change it to make a
// build pass. docs/design/0001-the-house.md says where it comes from.

// testOnly is the floor of rooms that only tests may enter.
const testOnly = -1

// floors gives every room its floor. A room is a package with everything below
// it. A package imports rooms of lower floors and, inside its own room, its
// ancestors and descendants; never a neighbour, never up.
var floors = map[string]float64{
	".": 0, // the vocabulary; a room by itself

	"internal/policy": 1,
	"internal/redact": 1,
	"internal/clean":  1, // how output is shown: pure, and needed by pages and by doors

	"internal/review": 1.25, // questions about whole policies, for people: pure, and above what judges

	"internal/trust": 1.5, // below the record, the judge and the desk, which all believe files by it

	"internal/kernfs": 1.5, // how small files of the kernel are read; record, containment and supervisor do it for each run

	"internal/heap": 1.5, // of a whole program, before it begins; nobody calls it

	"internal/failpoint": 1.5, // the same: all that acts is asked to fail there, in builds for tests

	"internal/trace": 1.5, // values that doors, queue and workers hand on; what sends them is linked into servers alone

	"internal/contain":   2,
	"internal/artifact":  2,
	"internal/rundir":    2,
	"internal/lineage":   2, // reads what belongs to a policy; both the judge and the desk ask
	"internal/workspace": 2,
	"internal/control":   2,
	"internal/journal":   2,
	"internal/store":     2,
	"internal/egress":    2,

	"internal/outbound": 2.25, // asks others over HTTP: what keeps providers of identity and collectors of traces away from what is inside

	"internal/books":    2.5, // what was used, counted from runs: judge, desks and whoever prunes ask
	"internal/approval": 2.5, // signatures over records; both who decides and the desk believe by it

	"internal/spawn": 3,

	"internal/executor":  4,
	"internal/supervise": 4,
	"internal/lease":     4,

	"internal/agent": 5,
	"internal/git":   5,
	"internal/task":  5,
	"internal/hub":   5,
	"internal/auth":  5,

	"internal/pipeline": 6,
	"internal/schedule": 6,
	"internal/webhook":  6,
	"internal/monitor":  6,

	"internal/app": 7,

	"internal/relay":    7.5, // the verbs of another machine; doors ask it in place of the house
	"internal/dispatch": 7.5, // runs by a queue: it asks the house's verbs and carries out what was ordered; doors ask it

	"runner":             8,
	"runner/agenttools":  8.5, // over the door that serves agents, which not every host program has
	"internal/mcpserver": 8,
	"internal/httpapi":   8,
	"internal/web":       8,
	"internal/client":    8,

	"cmd/paddock":       9,
	"cmd/paddock-stage": 9,
	"cmd/paddock-demo":  9,

	"tests": 9, // of the whole house, beside what people type

	"internal/house":    testOnly,
	"internal/testproc": testOnly,
}

// A reservation says who may import something; everybody else may not.
type reservation struct {
	what  string   // an import path, or a directory of this module; with all below it
	by    []string // rooms
	tests []string // rooms whose tests may too; "*" stands for every room
	why   string
}

var reservations = []reservation{
	{"internal/spawn", []string{"internal/executor", "internal/supervise"}, []string{"tests"},
		"who can start programs must decide or record them too (what that costs is measured beside what it costs not to)"},
	{"internal/contain", []string{"internal/spawn", "internal/executor", "internal/supervise", "cmd"}, []string{"tests"},
		"containment is planned and applied where programs are started, and probed by the doctor"},
	{"database/sql", []string{"internal/store"}, nil, "a row is a cache of what happened, behind one contract"},
	{"github.com/jackc/pgx", []string{"internal/store/tables/postgres"}, []string{"internal/store"}, "one backend speaks to PostgreSQL"},
	{"modernc.org/sqlite", []string{"internal/store/tables/sqlite"}, []string{"internal/store"}, "one backend speaks to SQLite"},
	{"github.com/pressly/goose", []string{"internal/store/tables"}, nil, "tables are made where they are used, under a lock"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/mcpserver", "cmd/paddock-demo"}, []string{"*"},
		"MCP is one door; its SDK can start programs, so nobody else holds it (tests and the demo play the client)"},
	{"github.com/spf13/cobra", []string{"cmd"}, nil, "the command line is parsed at the command line"},
	{"github.com/spf13/pflag", []string{"cmd"}, nil, "the command line is parsed at the command line"},
	{"golang.org/x/mod/sumdb", []string{"internal/journal"}, nil, "what a log's hashes and signatures are is said in one place"},
	{"cel.dev/cel-go", []string{"internal/policy"}, nil, "rules are evaluated where requests are decided, with cost limits"},
	{"github.com/google/cel-go", nil, nil, "cel.dev/cel-go is the same library under its present name"},
	{"mvdan.cc/sh", []string{"internal/policy"}, nil, "shell is parsed to word a refusal and for nothing else"},
	{"go.yaml.in/yaml", []string{"internal/policy"}, nil, "one reader of policy files; everything else is JSON"},
	{"gopkg.in/yaml.v3", nil, nil, "go.yaml.in/yaml is its maintained successor"},
	{"github.com/goccy/go-yaml", nil, nil, "it changes 012 in a string field"},
	{"github.com/klauspost/compress", []string{"internal/artifact/packed"}, nil, "one room compresses, and holds what it unpacks to what it packed"},
	{"github.com/SaveTheRbtz/zstd-seekable-format-go", []string{"internal/artifact/packed"}, nil, "one room compresses, and holds what it unpacks to what it packed"},
	{"go.opentelemetry.io", []string{"internal/trace/export"}, []string{"cmd"}, "one room knows how traces are written for those who collect them (tests play the collector)"},
	{"unsafe", []string{"internal/spawn", "internal/contain", "internal/heap"}, []string{"internal/spawn", "internal/contain"},
		"memory is handed to the kernel by hand only on the clone path, and to ask for large pages where a heap begins"},
	{"testing", []string{"internal/testproc"}, []string{"*"}, "a shipped binary must not carry the test kit"},
	{"github.com/rogpeppe/go-internal/testscript", nil, []string{"cmd"},
		"it starts programs by itself; scripts are for what a user can type"},
}

// A ban says what a room may not reach, not even through other rooms.
type ban struct {
	room string
	from []string
	why  string
}

var bans = []ban{
	{"internal/supervise", []string{"internal/store", "internal/policy", "internal/executor"},
		"a supervisor carries out what was decided; it must stay small and must not judge again"},
	{"cmd/paddock-stage", []string{"internal/store", "internal/policy", "internal/executor", "internal/app"},
		"the stage is the supervisor's binary: it starts fast because it knows little"},
	{"cmd/paddock", []string{"internal/store/tables"},
		"it is started for every run, and the drivers of databases cost a fifth of that: the server has a binary of its own"},
	{"cmd/paddock", []string{"internal/trace/export"},
		"only servers and workers send traces, and protocol buffers cost every start"},
	{"cmd/paddock-stage", []string{"internal/artifact/packed"},
		"output is compressed by others, later, so that a supervisor stays small"},
}

// vague are names that say nothing about what is inside.
var vague = []string{"util", "utils", "common", "helper", "helpers", "model", "models", "misc", "shared", "lib"}

// A memberRule forbids members of a package.
type memberRule struct {
	pkg     string
	members []string
	in      []string // rooms where they are allowed
	inTests bool
	why     string
}

var memberRules = []memberRule{
	{"os", []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}, []string{"cmd", "internal/spawn", "internal/testproc"}, true,
		"the environment is an input: read it in cmd and pass it on"},
	{"os", []string{"Create"}, nil, false,
		"it truncates what is there and follows links; use os.OpenFile with O_EXCL, or os.Root"},
	{"fmt", []string{"Print", "Printf", "Println"}, []string{"cmd"}, true,
		"standard output belongs to cmd (and to protocols); take an io.Writer"},
	{"context", []string{"Background"}, []string{"cmd", "internal/testproc"}, true,
		"whoever calls decides how long; take a context"},
	{"context", []string{"TODO"}, nil, false, "decide which context it is"},
	{"time", []string{"Sleep"}, nil, false,
		"wait for the thing itself: a channel, a context, an injected clock"},
}

// alsoInTests names members that are forbidden in tests too.
var alsoInTests = map[string]bool{"time.Sleep": true}

// pureUpTo is the highest of the floors that only compute.
const pureUpTo = 1.25

// impure lists what the pure floors may not import …
var impure = []string{
	"os", "net", "syscall", "golang.org/x/sys", "io/ioutil", "log", "plugin", "unsafe",
	"math/rand", "crypto/rand", "runtime/debug", "testing",
}

// … and which members of otherwise pure packages they may not use, because they
// look at a clock or a disk.
var impureMembers = map[string][]string{
	"time":          {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker", "LoadLocation", "Local"},
	"context":       {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"html/template": {"ParseFiles", "ParseGlob"},
	"text/template": {"ParseFiles", "ParseGlob"},
}

// Sizes past which there is a second idea hiding inside.
const (
	maxFile     = 450
	maxFunc     = 60
	maxFuncHard = 80
	maxPackage  = 800
)
