package executor

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

// A tool is something that people will run: at full it works as it does outside.
type tool struct {
	name  string
	needs string // a program that this machine may not have
	files map[string]string
	line  string
}

var tools = []tool{
	{"go build, vet and test", "GOROOT/bin/go", map[string]string{
		"go.mod":      "module example.org/x\n\ngo 1.22\n\nrequire github.com/google/go-cmp VERSION\n",
		"go.sum":      "SUMS",
		"main.go":     "package main\n\nimport \"fmt\"\n\nfunc sum(a, b int) int { return a + b }\n\nfunc main() { fmt.Println(sum(20, 22)) }\n",
		"sum_test.go": "package main\n\nimport (\n\t\"testing\"\n\n\t\"github.com/google/go-cmp/cmp\"\n)\n\nfunc TestSum(t *testing.T) {\n\tif d := cmp.Diff(sum(1, 2), 3); d != \"\" {\n\t\tt.Fatal(d)\n\t}\n}\n",
	}, `export PATH="GOROOT/bin:$PATH" GOCACHE=USER/gocache GOMODCACHE=USER/modules GOFLAGS=-mod=mod GOPROXY=off GOSUMDB=off GOTOOLCHAIN=local
		go vet ./... && go test ./... && go build -o x . && [ "$(./x)" = 42 ]`},
	{"make and gcc", "/usr/bin/gcc", map[string]string{
		"Makefile": "hello: hello.o\n\tgcc -o hello hello.o\n\nhello.o: hello.c\n\tgcc -Wall -g -pipe -c hello.c\n\ntest: hello\n\ttest \"$$(./hello)\" = hello\n",
		"hello.c":  "#include <stdio.h>\n#include <pthread.h>\n\nstatic void *f(void *p) { puts(p); return 0; }\n\nint main(void) {\n\tpthread_t t;\n\tif (pthread_create(&t, 0, f, \"hello\")) return 1;\n\treturn pthread_join(t, 0);\n}\n",
	}, "make -j2 test"},
	{"python3 -m unittest", "/usr/bin/python3", map[string]string{"test_x.py": `import fcntl, multiprocessing, os, pty, socket, sqlite3, subprocess, tempfile, threading, unittest

def square(x): return x * x

class Test(unittest.TestCase):
    def test_temporary(self):
        with tempfile.TemporaryDirectory() as d:
            open(d + "/x", "w").write("x")
            os.rename(d + "/x", d + "/y")
    def test_subprocess(self):
        self.assertEqual(subprocess.check_output(["sh", "-c", "echo $((6 * 7))"]), b"42\n")
    def test_processes(self):
        with multiprocessing.Pool(2) as p:
            self.assertEqual(p.map(square, range(5)), [0, 1, 4, 9, 16])
    def test_terminal(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.execvp("sh", ["sh", "-c", "tty; test -t 0 && echo terminal"])
        out = b""
        try:
            while b := os.read(fd, 1000): out += b
        except OSError: pass
        os.waitpid(pid, 0)
        self.assertIn(b"terminal", out)
        self.assertIn(b"/dev/pts/", out)
    def test_service(self):
        s = socket.create_server(("127.0.0.1", 0))
        c = socket.create_connection(s.getsockname())
        c.send(b"x")
        self.assertEqual(s.accept()[0].recv(1), b"x")
    def test_ipv6(self):
        if socket.has_ipv6:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    def test_names(self):
        self.assertTrue(socket.getaddrinfo("localhost", 80))
        socket.gethostname()
    def test_unix_socket(self):
        s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen()
        socket.socket(socket.AF_UNIX).connect("sock")
    def test_database(self):
        for name in ("x.db", tempfile.mktemp()):
            d = sqlite3.connect(name)
            d.execute("pragma journal_mode=wal"); d.execute("create table t(x)"); d.execute("insert into t values (1)"); d.commit()
            self.assertEqual(sqlite3.connect(name).execute("select count(*) from t").fetchone(), (1,))
    def test_user(self):
        import pwd
        self.assertTrue(pwd.getpwuid(os.getuid()).pw_name)
        os.path.expanduser("~")
    def test_directory(self):
        self.assertEqual(os.getcwd(), os.path.realpath("."))
        os.makedirs("a/b/c"); os.rename("a/b", "b"); os.sync()
`}, "/usr/bin/python3 -W error::ResourceWarning -m unittest 2>&1 || /usr/bin/python3 -m unittest"},
	{"git", "/usr/bin/git", nil, `set -e
		git init -q sub; cd sub; git config user.name x; git config user.email x@example.org; echo a > f
		git add f; git commit -qm one; echo b >> f; git diff --exit-code > /dev/null && exit 1
		git commit -qam two; git log --oneline | wc -l | grep -qx 2; git status --porcelain; git stash list; git gc -q; git checkout -qb other; git blame f > /dev/null`},
	{"git in a protected repository", "/usr/bin/git", map[string]string{
		".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = x\n\temail = x@example.org\n",
		".git/HEAD":   "ref: refs/heads/main\n", ".git/objects/info/x": "", ".git/refs/heads/.x": "", "f": "a\n", "d/.mcp.json": "{}\n",
	}, `set -e
		rm .git/refs/heads/.x; git add f; git commit -qm one; echo b >> f; git diff | grep -qx +b; git commit -qam two
		git log --oneline | wc -l | grep -qx 2; git show HEAD~1:f | grep -qx a
		git status --porcelain > s; grep -vx -e '?? d/' -e '?? s' s && exit 1; git branch x; git checkout -q x; git reset -q --hard HEAD~1; git gc -q`},
	{"node and npm test", "/usr/bin/node", map[string]string{
		"package.json": `{"name": "x", "version": "1.0.0", "scripts": {"test": "node --test"}}`,
		"x.test.js": `const test = require('node:test'), assert = require('node:assert'), fs = require('fs'), os = require('os'), net = require('net'), cp = require('child_process')
test('files', () => { const d = fs.mkdtempSync(os.tmpdir() + '/x'); fs.writeFileSync(d + '/f', 'x'); fs.copyFileSync(d + '/f', d + '/g'); fs.rmSync(d, {recursive: true}) })
test('child', () => assert.equal(cp.execSync('echo 42').toString(), '42\n'))
test('service', (t, done) => { const s = net.createServer(c => c.end('x')).listen(0, '127.0.0.1', () => net.connect(s.address().port, '127.0.0.1').on('data', () => {}).on('close', () => s.close(done))) })
test('watch', () => fs.watch('.').close())
test('user', () => { os.userInfo(); os.cpus(); os.networkInterfaces() })
`,
	}, "npm test --offline --no-update-notifier"},
	{"pipelines, fifos and large files", "/bin/dd", nil, `set -e
		mkfifo f; (seq 100000 > f &); [ "$(cat f | sort -rn | head -1)" = 100000 ]
		dd if=/dev/zero of=/tmp/large bs=1M count=200 2> /dev/null; [ "$(stat -c %s /tmp/large)" = 209715200 ]; rm /tmp/large
		dd if=/dev/urandom of=/dev/full bs=1 count=1 2> /dev/null && exit 1
		mkdir a b; echo x > a/f; mv a/f b/f; mv b c; ln c/f l; ln -s c/f s; cat s; cp -a c d; tar cf - c | tar xf - -C a; chmod +x l; touch -d yesterday l
		flock l true; [ "$(pwd -P)" = "$(/bin/pwd)" ]; cat /proc/self/exe > /dev/null; echo x > /dev/stderr; echo x | cat /dev/stdin; ls /dev/fd/
		script -qc 'test -t 0 && tty' /dev/null | grep -q /dev/pts; date; id; locale > /dev/null; timeout 5 true; nproc; free; ps ax; df . > /dev/null; getent hosts localhost`},
	{"sqlite3", "/usr/bin/sqlite3", nil, `[ "$(sqlite3 x.db 'pragma journal_mode=wal; create table t(x); insert into t values(42); select x from t;' | tail -1)" = 42 ]`},
}

// tryTools runs the tools with what a user's policy would give them.
func tryTools(t *testing.T) {
	t.Parallel()
	th, user := newTheater(t), os.Getenv("HOME")
	root, err := os.ReadFile(filepath.Join(user, "goroot"))
	must(t, err)
	fill := strings.NewReplacer("GOROOT", string(root), "USER", user, "VERSION", goCmp, "SUMS", goCmpSums)
	var roots []string
	for _, tool := range tools {
		roots = append(roots, strings.ReplaceAll(tool.name, " ", "-"))
	}
	a := th.act(t, paddock.Full, fill.Replace(", read: [USER/modules, GOROOT], write: [USER/gocache]"), roots...)
	for i, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(fill.Replace(tool.needs)); err != nil {
				t.Skip("this machine doesn't have it: ", err)
			}
			for name, text := range tool.files {
				path := filepath.Join(a.dir, roots[i], name)
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(t, os.WriteFile(path, []byte(fill.Replace(text)), 0o644))
			}
			if status, out := a.sh(t, roots[i], fill.Replace(tool.line)); status != 0 {
				t.Errorf("status %d:\n%s", status, out)
			}
		})
	}
}

// A module that the module cache is sure to have: these tests use it.
const (
	goCmp     = "v0.7.0"
	goCmpSums = "github.com/google/go-cmp v0.7.0 h1:wk8382ETsv4JYUZwIsn6YpYiWiBsYLSJiTsyBybVuN8=\ngithub.com/google/go-cmp v0.7.0/go.mod h1:pXiqmnSA92OHEEa9HXL2W4E7lf9JzCmGVUdgjX3N/iU=\n"
)

// readyTools puts below dir what the tools need: a cache of modules, one of the
// go command, perhaps warmed by those before, and where Go is.
func readyTools(t *testing.T, dir, cache string) {
	t.Helper()
	ask := func(args ...string) string {
		cmd := testproc.Command(t, "go", args...)
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOFLAGS=")
		cmd.Dir = "/"
		out, err := cmd.Output()
		must(t, err)
		return strings.TrimSpace(string(out))
	}
	// The toolchain that runs these tests may be where only its user can look.
	root := ask("env", "GOROOT")
	for _, shared := range []string{"/usr/lib/go", "/usr/local/go"} {
		if _, err := os.Stat(filepath.Join(shared, "bin/go")); err == nil {
			root = shared
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "goroot"), []byte(root), 0o644))
	from := ask("env", "GOMODCACHE")
	for _, part := range []string{"github.com/google/go-cmp@" + goCmp, "cache/download/github.com/google/go-cmp"} {
		clone(t, filepath.Join(from, part), filepath.Join(dir, "modules", part))
	}
	if cache == "" {
		must(t, os.Mkdir(filepath.Join(dir, "gocache"), 0o755))
		return
	}
	must(t, os.Rename(cache, filepath.Join(dir, "gocache")))
}

// clone copies a directory; modules are read-only.
func clone(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		rel, err := filepath.Rel(from, path)
		must(t, err)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		in, err := os.Open(path)
		must(t, err)
		defer in.Close()
		out, err := os.OpenFile(filepath.Join(to, rel), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		must(t, err)
		_, err = io.Copy(out, in)
		must(t, err)
		return out.Close()
	})
	must(t, err)
}
