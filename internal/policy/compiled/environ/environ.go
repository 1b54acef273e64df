// Package environ knows which environment variables are dangerous by name, and
// builds a program's environment from nothing.
//
// # Limits
//
// It reads no environment: values come from its caller. A name is a hint, not
// a proof: a secret under a harmless name passes here.
package environ

import (
	"path"
	"slices"
	"strings"

	"paddock"
)

// IsName reports whether s can name a variable.
func IsName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return s != ""
}

// Variables that make a loader, an interpreter or a tool run or read something
// else than the command says, or that Paddock itself sets.
var (
	steeringPrefixes = []string{
		"LD_", "DYLD_", "GIT_", "PYTHON", "PERL5", "RUBY", "BASH_", "NODE_", "NPM_CONFIG_", "XDG_", "CARGO_", "RUSTC", "GLIBC_",
		"LUA_", "SSH_", "CGO_", "DOTNET_", "CORECLR_", "COMPLUS_", "ERL_", "JULIA_", "R_PROFILE", "R_ENVIRON", "R_LIBS",
		"PIP_", "UV_", "BUNDLE_", "COMPOSER_", "CMAKE_", "PKG_CONFIG", "RSYNC_", "SUDO_", "SVN_", "HG", "CVS", "PADDOCK_",
	}
	steeringNames = strings.Fields(`
		ENV SHELLOPTS BASHOPTS PS4 PS1 PS0 IFS CDPATH GLOBIGNORE PROMPT_COMMAND ZDOTDIR SHELL HISTFILE FPATH
		JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS CLASSPATH
		PERLLIB PERL_UNICODE GEM_PATH GEM_HOME BUNDLE_GEMFILE PHPRC PHP_INI_SCAN_DIR
		PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE LESS TERMINFO TERMINFO_DIRS TERMCAP
		GOFLAGS GOTOOLCHAIN GOENV GOROOT GOPATH GOPROXY GONOSUMDB GONOSUMCHECK GOSUMDB GOPRIVATE GOINSECURE GOBIN GOEXPERIMENT GOCACHE GOMODCACHE GOWORK
		CC CXX CPP LD AR AS PKG_CONFIG CFLAGS CXXFLAGS LDFLAGS CPPFLAGS MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES
		GCONV_PATH LOCPATH NLSPATH HOSTALIASES RES_OPTIONS LOCALDOMAIN MALLOC_TRACE TMPDIR TMP TEMP
		PATH HOME PWD OLDPWD USER LOGNAME
		HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY
		SSL_CERT_FILE SSL_CERT_DIR OPENSSL_CONF OPENSSL_MODULES CURL_CA_BUNDLE CURL_HOME REQUESTS_CA_BUNDLE WGETRC
		DOCKER_HOST DOCKER_CONFIG KUBECONFIG
		RUSTFLAGS RUSTDOCFLAGS JAVA_HOME ANT_OPTS SBT_OPTS ELIXIR_ERL_OPTIONS TCLLIBPATH EMACSLOADPATH
		VIMINIT GVIMINIT EXINIT MYVIMRC INPUTRC MAKE MAKESHELL GODEBUG SSLKEYLOGFILE
		TAR_OPTIONS GREP_OPTIONS GZIP ZIPOPT UNZIP XZ_OPT XZ_DEFAULTS LISTEN_FDS LISTEN_PID NOTIFY_SOCKET`)
)

// IsSteering reports whether a variable could change what a command means, so
// that no caller may ever set it. Names are compared without regard to case,
// as some tools read them so.
func IsSteering(name string) bool {
	upper := strings.ToUpper(name)
	if upper == "NODE_ENV" { // the one harmless name of its family, and a common one
		return false
	}
	if slices.Contains(steeringNames, upper) {
		return true
	}
	return slices.ContainsFunc(steeringPrefixes, func(p string) bool { return strings.HasPrefix(upper, p) })
}

var (
	secretNames = []string{"DATABASE_URL", "REDIS_URL", "SESSION_SECRET", "GITHUB_CLIENT_SECRET"}
	secretWords = []string{"SECRET", "PASSWORD", "TOKEN", "API_KEY", "SECRET_KEY", "ACCESS_KEY", "PRIVATE_KEY"}
)

// IsSecret reports whether a variable's name says that it holds a secret: one
// of a few known names, or one that ends in SECRET, PASSWORD, TOKEN or a kind of
// key. TOKENIZERS_PARALLELISM isn't one.
func IsSecret(name string) bool {
	upper := strings.ToUpper(name)
	if slices.Contains(secretNames, upper) {
		return true
	}
	return slices.ContainsFunc(secretWords, func(w string) bool {
		before, ends := strings.CutSuffix(upper, w)
		return ends && (before == "" || before[len(before)-1] == '_')
	})
}

// The variables by which programs find a proxy. Most read them in lower case,
// some in upper case only.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// IsProxy reports whether a variable says where a proxy is, in either case.
func IsProxy(name string) bool { return slices.Contains(proxyNames, strings.ToUpper(name)) }

// AddProxy puts into vars that the proxy at address is the way to every host but
// the run itself. It speaks HTTP, and SOCKS5 with names, at the same address.
func AddProxy(vars *Vars, address string) {
	values := map[string]string{"ALL_PROXY": "socks5h://" + address, "NO_PROXY": "localhost,127.0.0.1,::1"}
	for _, name := range proxyNames {
		value, ok := values[name]
		if !ok {
			value = "http://" + address
		}
		vars.Set(name, value)
		vars.Set(strings.ToLower(name), value)
	}
}

// The variables by which programs are told which certificates to trust, in the
// place of the system's or, as in Node, beside them.
var certificateNames = []string{
	"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
	"CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "DENO_CERT",
}

// IsCertificates reports whether a variable says which certificates to trust.
func IsCertificates(name string) bool { return slices.Contains(certificateNames, name) }

// AddCertificates puts into vars that the file at path holds all certificates to
// trust.
func AddCertificates(vars *Vars, path string) {
	for _, name := range certificateNames {
		vars.Set(name, path)
	}
}

var systemDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// Path returns the PATH that programs get: the directories of the policy's
// executables in order, then the system's. Programs use it to find their own
// helpers; Paddock never looks anything up in it.
func Path(executables []string) string {
	var dirs []string
	for _, e := range executables {
		// A colon would split the directory in two.
		if d := path.Dir(e); !slices.Contains(dirs, d) && !strings.Contains(d, ":") {
			dirs = append(dirs, d)
		}
	}
	for _, d := range systemDirs {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return strings.Join(dirs, ":")
}

// OnTerminal gives vars a TERM where there is a terminal and nobody says which:
// without one, programs take it for one that can do nothing.
func OnTerminal(size *paddock.TerminalSize, vars *Vars) {
	if size != nil && !slices.Contains(vars.Names, "TERM") {
		vars.SetOwn("TERM", "xterm-256color")
	}
}
