package tools

// interpreter are the ways of a program that runs scripts; code is how a flag with
// the script itself looks.
func interpreter(code string) []Way {
	ways := []Way{
		{Bare: true, Does: stdin},
		{First: `-`, Does: stdin},
		{First: `[^-](?s).*`, Free: true, Does: script},
	}
	if code != "" {
		ways = append(ways, Way{Word: code, Does: "runs the code that follows"})
	}
	return ways
}

// wrapper are the ways of a program whose words are another program.
func wrapper(more ...Way) []Way {
	return append([]Way{{Word: `[^-0-9](?s).*`, Free: true, Does: program}}, more...)
}

var table = []Tool{
	{[]string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "pwsh", "nu", "xonsh", "rbash"}, "shell", []Way{
		{Bare: true, Does: stdin},
		{Word: anything, Free: true, Does: "runs a script, or commands, of the caller's choice"},
		{Word: `-[a-zA-Z]*s[a-zA-Z]*|-`, Does: stdin},
	}, "sh(1p), bash(1): -c and -s"},
	{[]string{"busybox", "toybox"}, "box of tools", wrapper(Way{Bare: true, Does: "lists its tools, a shell among them"}), "busybox --help"},
	{[]string{"python", "python3", "pypy", "pypy3"}, "interpreter", append(interpreter(`-[a-zA-Z]*c(?s).*`),
		Way{First: `-m`, Word: anything, Second: true, Free: true, Does: "runs a module of the caller's choice"},
		Way{Word: `-[a-zA-Z]*i|--interactive`, Does: "goes on with code from standard input"}), "python --help: -c, -m, -i, -"},
	{[]string{"perl"}, "interpreter", append(interpreter(`-[a-zA-Z0-9]*[eE](?s).*`), Way{Word: `-[a-zA-Z]*[dMmI](?s).*`, Does: "loads a module or debugger"}), "perlrun(1): -e, -E, -M, -d"},
	{[]string{"ruby", "jruby"}, "interpreter", append(interpreter(`-[a-zA-Z]*e(?s).*`), Way{Word: `-[a-zA-Z]*[rI](?s).*`, Does: "loads a library first"}), "ruby(1): -e, -r"},
	{[]string{"node", "nodejs"}, "interpreter", append(interpreter(`-[a-z]*[ep]|--eval(=(?s).*)?|--print(=(?s).*)?`),
		Way{Word: `-r|--require(=(?s).*)?|--import(=(?s).*)?|--loader(=(?s).*)?|--experimental-loader(=(?s).*)?`, Does: "loads code first"},
		Way{Word: `--run(=(?s).*)?`, Free: true, Does: "runs a script of package.json"},
		Way{Word: `--inspect(?s).*`, Does: "opens a debugger's port, through which any code can run"}), "node --help: -e, -p, -r, --import, --inspect"},
	{[]string{"deno", "bun"}, "interpreter", append(interpreter(`-e|--eval(=(?s).*)?`), Way{First: `eval|repl|x|exec|task`, Does: "runs code or scripts"}), "deno --help, bun --help"},
	{[]string{"php"}, "interpreter", append(interpreter(`-[a-zA-Z]*[rBRFE](?s).*`), Way{Word: `-d(?s).*`, Does: "sets what php.ini forbids, auto_prepend_file among it"}), "php(1): -r, -d"},
	{[]string{"lua", "luajit", "Rscript", "rscript", "tclsh", "wish", "guile", "sbcl", "julia", "groovy", "scala", "jshell", "erl", "elixir", "iex", "osascript", "ghci", "ocaml", "racket"}, "interpreter",
		interpreter(`-[a-zA-Z]*[eEsl]|--eval(=(?s).*)?|--print(=(?s).*)?`), "their manual pages: -e and a script"},
	{[]string{"java"}, "interpreter", []Way{
		{Word: `-javaagent:(?s).*|-agentpath:(?s).*|-agentlib:(?s).*`, Does: "loads an agent first"},
		{Word: `-XX:OnOutOfMemoryError=(?s).*|-XX:OnError=(?s).*`, Does: "runs a command when it fails"},
		{Word: `@(?s).*`, Does: "reads its flags from a file"},
		{Word: `-cp|-classpath|--class-path(=(?s).*)?|-jar`, Does: "runs classes from where the word says"},
	}, "java(1)"},
	{[]string{"env", "nohup", "nice", "ionice", "timeout", "time", "stdbuf", "setsid", "setarch", "chrt", "taskset", "chroot", "unshare", "nsenter", "setpriv", "script", "unbuffer", "expect", "flock", "watch", "strace", "ltrace", "gdb", "lldb", "valgrind", "perf", "rlwrap", "doas", "sudo", "su", "runuser", "pkexec", "systemd-run", "start-stop-daemon", "firejail", "bwrap", "proot", "fakeroot", "eatmydata", "catchsegv", "ld.so", "ld-linux-x86-64.so.2", "entr", "inotifywait", "direnv", "mise", "dotenv", "run-parts", "xvfb-run", "dbus-run-session", "faketime", "hyperfine", "numactl", "prlimit", "choom", "cgexec"},
		"wrapper", wrapper(Way{Word: `-S(?s).*|--split-string(=(?s).*)?|-c|--command(=(?s).*)?|-ex|-x|--eval-command(=(?s).*)?`, Does: "takes a command as one word"}), "their manual pages: COMMAND [ARG]..."},
	{[]string{"xargs"}, "wrapper", wrapper(
		Way{Word: `[^-0-9](?s).*`, Does: "gives the program words that it reads from standard input, which no rule judges"},
	), "xargs(1)"},
	{[]string{"parallel"}, "wrapper", wrapper(
		Way{Bare: true, Does: "starts the programs that standard input says"},
		Way{Word: `[^-0-9](?s).*`, Does: "gives the program words that it reads from standard input, which no rule judges"},
	), "parallel(1)"},
	{[]string{"find"}, "finder", []Way{
		{Word: `-exec|-execdir|-ok|-okdir`, Does: "starts a program for each file found"},
		{Word: `-delete`, Does: "deletes what it finds"},
		{Word: `-fprint|-fprint0|-fprintf|-fls`, Does: "writes to a file"},
	}, "find(1), ACTIONS"},
	{[]string{"fd", "fdfind"}, "finder", []Way{{Word: `-[a-zA-Z]*[xX](?s).*|--exec(?s).*`, Does: "starts a program for each file found"}}, "fd(1): -x, -X"},
	{[]string{"rg", "ripgrep"}, "searcher", []Way{
		{Word: `--pre(=(?s).*)?|--hostname-bin(=(?s).*)?`, Does: "starts the program that follows"},
		{Word: `-[a-zA-Z]*z(?s).*|--search-zip`, Does: "starts decompressors found by PATH"},
	}, "rg(1): --pre, --hostname-bin, -z"},
	{[]string{"grep", "egrep", "fgrep"}, "searcher", []Way{{Word: `-[a-zA-Z]*f(?s).*|--fi[a-z]*(=(?s).*)?`, Free: true, Does: "reads any file as patterns"}}, "grep(1): -f"},
	{[]string{"ag", "ack"}, "searcher", []Way{{Word: `--pager(=(?s).*)?`, Does: "starts the program that follows"}}, "ag(1), ack(1): --pager"},
	{[]string{"sed", "gsed"}, "editor", []Way{
		{First: `[^-](?s).*`, Free: true, Does: "runs a script of the caller's choice; e and w in it start programs and write files"},
		{Word: `-[a-zA-Z]*e(?s).*|--ex[a-z]*(=(?s).*)?`, Free: true, Does: "runs a script of the caller's choice; e and w in it start programs and write files"},
		{Word: `-[a-zA-Z]*e|--ex[a-z]*`, Does: "takes the next word as script; e and w in it start programs and write files"},
		{Word: `-[a-zA-Z]*f(?s).*|--fi[a-z]*(=(?s).*)?`, Does: "reads a script from a file"},
		{Word: `-[a-zA-Z]*i(?s).*|--in-[a-z-]*(=(?s).*)?`, Does: "changes files in place"},
	}, "sed(1), COMMAND e and w"},
	{[]string{"awk", "gawk", "mawk", "nawk"}, "interpreter", []Way{
		{First: `[^-](?s).*`, Free: true, Does: "runs a program of the caller's choice, with system() and output to files"},
		{Word: `-[a-zA-Z]*[felE](?s).*|--file(=(?s).*)?|--exec(=(?s).*)?|--load(=(?s).*)?|--include(=(?s).*)?|--source(=(?s).*)?`, Does: "runs a program or loads a library"},
	}, "gawk(1): system(), -f, -l"},
	{[]string{"tar", "gtar", "bsdtar"}, "archiver", []Way{
		{Word: `--checkpoint-a[a-z-]*(=(?s).*)?|--to-c[a-z-]*(=(?s).*)?|--use-c[a-z-]*(=(?s).*)?|--rsh-c[a-z-]*(=(?s).*)?|--rmt-c[a-z-]*(=(?s).*)?|--info-s[a-z-]*(=(?s).*)?|--new-v[a-z-]*(=(?s).*)?`, Does: "starts the program that follows"},
		{Word: `-[a-zA-Z]*[IF](?s).*`, Does: "starts the program that follows"},
		{Word: `-[a-zA-Z]*P(?s).*|--ab[a-z-]*`, Does: "takes absolute paths and .. from the archive"},
	}, "tar(1): --checkpoint-action, --to-command, -I, -F"},
	{[]string{"zip"}, "archiver", []Way{{Word: `-[a-zA-Z]*T[a-zA-Z]*|-TT|--unzip-command(=(?s).*)?|--test`, Does: "starts the program of -TT to test an archive"}}, "zip(1): -TT"},
	{[]string{"unzip", "7z", "7za", "7zr", "unrar", "cpio", "pax", "ar"}, "archiver", []Way{{Word: anything, Free: true, Does: "unpacks an archive of the caller's choice over what is there"}}, "their manual pages"},
	{[]string{"rsync"}, "network tool", []Way{
		{Word: `-[a-zA-Z]*e(?s).*|--rsh(=(?s).*)?|--rsync-path(=(?s).*)?`, Does: "starts the program that follows"},
		{Word: `[^-](?s).*:(?s).*`, Free: true, Does: "connects to another machine"},
	}, "rsync(1): -e, --rsync-path"},
	{[]string{"ssh", "scp", "sftp", "mosh"}, "network tool", []Way{
		{Word: `-o(?s).*`, Does: "sets options; ProxyCommand and LocalCommand start programs"},
		{Word: `-[a-zA-Z0-9]*[SFJDLRw](?s).*`, Does: "starts a program, reads a configuration or forwards ports"},
		{Word: `[^-](?s).*`, Free: true, Does: "reaches any machine, and runs commands there"},
	}, "ssh(1), ssh_config(5): ProxyCommand"},
	{[]string{"curl"}, "network tool", []Way{
		{Word: `-[a-zA-Z]*[oOTKDc](?s).*|--ou[a-z-]*(=(?s).*)?|--rem[a-z-]*|--up[a-z-]*(=(?s).*)?|--conf[a-z]*(=(?s).*)?|--dump-h[a-z]*|--cookie-j[a-z]*|--trace(?s).*`, Does: "writes or sends a file, or reads its flags from one"},
		{Word: `[^-](?s).*`, Free: true, Does: "reaches any address, file:// and localhost included"},
	}, "curl(1): -o, -T, -K"},
	{[]string{"wget", "wget2", "aria2c", "http", "https", "xh"}, "network tool", []Way{
		{Word: `--use-askpass(=(?s).*)?|-e|--execute(=(?s).*)?|--on-download(?s).*`, Does: "starts a program or sets options that do"},
		{Word: `[^-](?s).*`, Free: true, Does: "reaches any address and writes what it gets"},
	}, "wget(1): --use-askpass, -e"},
	{[]string{"nc", "ncat", "netcat", "socat", "telnet", "nmap", "ping", "dig", "nslookup", "host", "openssl"}, "network tool", []Way{
		{Word: `-[a-zA-Z]*[ec]|--exec(=(?s).*)?|--sh-exec(=(?s).*)?|EXEC:(?s).*|SYSTEM:(?s).*|--script(=(?s).*)?`, Does: "starts a program"},
		{Word: `[^-](?s).*`, Free: true, Does: "reaches any machine; a name looked up carries data out, too"},
	}, "ncat(1): -e, socat(1): EXEC, openssl-s_client(1)"},
	{[]string{"git"}, "version control", []Way{
		{First: `-c|-C|--git-dir(=(?s).*)?|--work-tree(=(?s).*)?|--exec-path(=(?s).*)?|--config-env(=(?s).*)?|-p|--paginate`, Does: "works with another configuration or repository; core.pager, core.fsmonitor and aliases start programs"},
		{First: `config`, Word: anything, Second: true, Free: true, Does: "changes the configuration, where programs to start are named"},
		{First: `[^-](?s).*`, Free: true, Does: "runs a subcommand of the caller's choice; aliases, bisect run, rebase --exec and submodule foreach start programs"},
		{Word: `--upl[a-z-]*(=(?s).*)?|--rec[a-z]*-p[a-z-]*(=(?s).*)?|--exec(=(?s).*)?|--ext-diff|--textconv|--open-files-in-pager(=(?s).*)?|-O(?s).*`, Does: "starts the program that follows, or one of the configuration"},
		{Word: `--ou[a-z-]*(=(?s).*)?`, Does: "writes to any file"},
		{First: `rebase`, Word: `-x(?s).*|--ex[a-z]*(=(?s).*)?|-i|--int[a-z]*`, Does: "starts a program between commits"},
		{First: `bisect`, Word: `run`, Second: true, Does: "starts the program that follows"},
		{First: `submodule`, Word: `foreach`, Second: true, Does: "starts the command that follows"},
		{First: `difftool|mergetool|daemon|instaweb|send-email|filter-branch|archive|credential|hook`, Does: "starts programs of the configuration or of its words"},
		{First: `fetch|clone|pull|push|ls-remote|remote|submodule|bundle`, Word: `ext::(?s).*`, Does: "starts a program as a transport"},
	}, "git(1), git-config(1), gitremote-helpers(7)"},
	{[]string{"hg", "svn", "fossil"}, "version control", []Way{
		{Word: `--config(=(?s).*)?|--config-option(=(?s).*)?|--diff-cmd(=(?s).*)?|--editor-cmd(=(?s).*)?|--ssh(=(?s).*)?|--remotecmd(=(?s).*)?`, Does: "starts a program that is named so"},
		{First: `[^-](?s).*`, Free: true, Does: "runs a subcommand of the caller's choice; aliases start programs"},
	}, "hg help config, svn help"},
	{[]string{"go"}, "build tool", []Way{
		{First: `run|generate|tool|env|install|get|work`, Does: "runs code of the caller's choice, or changes what later commands do"},
		{Word: `-exec(=(?s).*)?|-toolexec(=(?s).*)?|-overlay(=(?s).*)?|-vettool(=(?s).*)?|-modfile(=(?s).*)?|-C(=(?s).*)?`, Does: "starts the program that follows, or builds something else"},
		{Word: `-o(=(?s).*)?|-coverprofile(=(?s).*)?|-cpuprofile(=(?s).*)?|-outputdir(=(?s).*)?`, Free: true, Does: "writes to any file"},
		{First: `[^-](?s).*`, Free: true, Does: "runs a subcommand of the caller's choice"},
	}, "go help build, go help testflag"},
	{[]string{"npm", "pnpm", "yarn", "npx", "pnpx", "bunx", "corepack"}, "package runner", []Way{
		{First: `exec|x|dlx|explore|init|create|install-test|link|publish|config|set|edit|node`, Does: "fetches and starts a package, or changes what later commands do"},
		{First: `[^-](?s).*`, Free: true, Does: "runs a subcommand, script or package of the caller's choice"},
		{First: `run|run-script|rum|urn`, Word: anything, Second: true, Free: true, Does: "runs a script of the caller's choice"},
		{First: `install|i|add|ci`, Word: `[^-](?s).*`, Free: true, Does: "installs a package of the caller's choice, whose scripts run"},
		{Word: `--script-shell(=(?s).*)?|--node-options(=(?s).*)?|--prefix(=(?s).*)?|-c|--call(=(?s).*)?`, Does: "starts another program, or works elsewhere"},
	}, "npm help exec, npm help config"},
	{[]string{"pip", "pip3", "pipx", "uv", "uvx", "poetry", "pdm", "hatch", "tox", "nox", "conda"}, "package runner", []Way{
		{First: `install|download|wheel|run|tool|exec|add|shell|config`, Word: `[^-](?s).*`, Free: true, Does: "installs or runs what the caller names, with its build scripts"},
		{First: `[^-](?s).*`, Free: true, Does: "runs a subcommand or package of the caller's choice"},
	}, "pip help install, uv help"},
	{[]string{"cargo", "gem", "bundle", "composer", "mix", "dotnet", "stack", "cabal"}, "package runner", []Way{
		{First: `run|install|exec|script|watch|tool|config|alias`, Does: "runs or installs code beyond a build"},
		{Word: `--config(=(?s).*)?|-Z(?s).*|--manifest-path(=(?s).*)?`, Does: "sets what is started (runner, linker, wrapper), or works elsewhere"},
		{First: `[^-](?s).*`, Free: true, Does: "runs a subcommand of the caller's choice"},
	}, "cargo help, cargo config"},
	{[]string{"make", "gmake", "just", "task", "ninja", "rake", "cmake", "meson", "bazel", "gradle", "mvn", "ant"}, "build tool", []Way{
		{Word: `-[a-zA-Z]*[fCE](?s).*|--file(=(?s).*)?|--makefile(=(?s).*)?|--directory(=(?s).*)?|--eval(=(?s).*)?|--justfile(=(?s).*)?|-P|--init-script(=(?s).*)?`, Does: "takes its rules from elsewhere, or from the word"},
		{Word: `[A-Za-z_][A-Za-z0-9_.]*[+:?]?=(?s).*`, Free: true, Does: "sets a variable of the caller's choice, SHELL and CC among them"},
		{Word: `-D(?s).*`, Free: true, Does: "sets a property of the caller's choice"},
	}, "make(1): -f, -C, --eval, VARIABLE=value"},
	{[]string{"gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "rustc", "tsc", "javac"}, "compiler", []Way{
		{Word: `-B(?s).*|-wrapper|-fplugin(?s).*|-specs(?s).*|--specs(?s).*|-Xclang|-load|-C(?s).*linker=(?s).*|-fuse-ld=(?s).*|-processor(?s).*|--plugin(?s).*`, Does: "starts another program or loads a plugin"},
		{Word: `@(?s).*`, Does: "reads its flags from a file"},
		{Word: `-[a-zA-Z]*o(?s).*`, Free: true, Does: "writes to any file"},
	}, "gcc(1): -B, -wrapper, -fplugin"},
	{[]string{"vi", "vim", "nvim", "view", "ex", "emacs", "nano", "pico", "ed", "micro", "helix", "hx", "code", "rvim", "joe"}, "editor", []Way{
		{Bare: true, Does: "edits anything and starts programs by its own commands"},
		{Word: anything, Does: "edits anything and starts programs by its own commands, -c and +cmd among its words"},
	}, "vim(1): :!, -c, +; ed(1): !"},
	{[]string{"less", "more", "most", "man", "info", "journalctl", "systemctl", "psql", "mysql", "sqlite3", "bat", "batcat", "top", "htop"}, "pager", []Way{
		{Word: `-[a-zA-Z]*P(?s).*|--pager(=(?s).*)?|-H(?s).*|--html(=(?s).*)?|-k(?s).*|--lesskey(?s).*`, Does: "starts the program that follows"},
		{Word: `-[a-zA-Z]*[oO](?s).*|--log-file(=(?s).*)?|-c|--command(=(?s).*)?|-f|--file(=(?s).*)?|-cmd|-init|-e|--execute(=(?s).*)?`, Does: "writes a file or runs commands, shell escapes among them"},
		{Word: `[^-](?s).*`, Free: true, Does: "reads any file; what it reads may say which program to start (LESSOPEN, .read, \\!)"},
	}, "less(1): !, man(1): -P, -H, sqlite3(1): .shell"},
	{[]string{"sort"}, "filter", []Way{
		{Word: `--com[a-z-]*(=(?s).*)?`, Does: "starts the program that follows"},
		{Word: `-[a-zA-Z]*[oT](?s).*|--o[a-z]*(=(?s).*)?`, Does: "writes to any file"},
	}, "sort(1): --compress-program, -o"},
	{[]string{"split", "tee", "dd", "cp", "mv", "ln", "install", "truncate", "shred", "rm", "unlink", "chmod", "chown", "mkfifo", "mknod"}, "file tool", []Way{
		{Word: `--filter(=(?s).*)?`, Does: "starts the command that follows"},
		{Word: `[^-](?s).*`, Free: true, Does: "changes any file that the caller names"},
	}, "split(1): --filter; their manual pages"},
	{[]string{"docker", "podman", "nerdctl", "kubectl", "helm", "crictl", "ctr", "buildah", "skopeo", "vagrant", "terraform", "tofu", "ansible", "ansible-playbook"}, "engine", []Way{
		{Word: anything, Free: true, Does: "asks a service that does anything with the rights of that service"},
		{First: `run|exec|build|create|compose|cp|plugin`, Does: "starts a container, with any directory of the machine in it"},
	}, "docker(1): -v, --privileged"},
	{[]string{"crontab", "at", "batch", "systemd", "launchctl", "mount", "umount", "insmod", "modprobe", "sysctl", "ip", "iptables", "nft", "useradd", "passwd", "visudo", "apt", "apt-get", "dpkg", "yum", "dnf", "rpm", "pacman", "apk", "snap", "brew"}, "administrator's tool", []Way{
		{Bare: true, Does: "changes the machine, or makes programs start later"},
		{Word: anything, Does: "changes the machine, or makes programs start later"},
	}, "their manual pages"},
	{[]string{"jq", "yq"}, "filter", []Way{
		{Word: `-[a-zA-Z]*[fL](?s).*|--from-file(=(?s).*)?|--rawfile|--slurpfile|-i|--inplace`, Does: "reads any file, or changes one in place"},
	}, "jq(1): -f, --rawfile"},
	{[]string{"ffmpeg", "convert", "magick", "gs", "pdflatex", "latex", "xelatex", "lualatex", "pandoc"}, "converter", []Way{
		{Word: `-shell-escape|--shell-escape|-filter|--filter(=(?s).*)?|--lua-filter(=(?s).*)?|--pdf-engine(=(?s).*)?|-dNOSAFER`, Does: "starts other programs"},
		{Word: `(?:\||msl:|mvg:|https?:|concat:|file:)(?s).*`, Free: true, Does: "starts a program or reads any address"},
	}, "pdftex(1): -shell-escape; pandoc(1): --filter"},
	{[]string{"pytest", "jest", "mocha", "vitest", "eslint", "prettier", "mypy", "ruff"}, "test runner", []Way{
		{Word: `-p(?s).*|-c|--config(=(?s).*)?|--rootdir(=(?s).*)?|-o(?s).*|--require(=(?s).*)?|-r|--globalSetup(=(?s).*)?|--plugin(?s).*|--rulesdir(=(?s).*)?|--resolve-plugins-relative-to(=(?s).*)?`, Does: "loads plugins or a configuration from where the word says"},
	}, "pytest --help: -p, -c"},
}
