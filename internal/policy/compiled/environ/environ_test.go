package environ

import (
	"slices"
	"strings"
	"testing"
)

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{"A": true, "_": true, "a1_B": true, "": false, "1A": false, "A-B": false, "A=B": false, "A\x00": false, "É": false, "A B": false} {
		if IsName(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
}

func TestIsSteering(t *testing.T) {
	for _, name := range strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV SHELLOPTS BASHOPTS PS4 IFS NODE_OPTIONS NODE_PATH
		GIT_SSH_COMMAND GIT_DIR PYTHONPATH PYTHONSTARTUP PYTHONWARNINGS PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS PROMPT_COMMAND
		ZDOTDIR PAGER EDITOR VISUAL BROWSER GOFLAGS PATH HOME PWD http_proxy npm_config_script_shell XDG_CONFIG_HOME CARGO_HOME RUSTC_WRAPPER
		DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH COMPlus_X ERL_AFLAGS JULIA_LOAD_PATH R_PROFILE_USER PIP_INDEX_URL UV_INDEX RSYNC_RSH SUDO_ASKPASS
		SVN_SSH HGRCPATH HGEDITOR CVS_RSH PADDOCK_POLICY RUSTFLAGS VIMINIT EXINIT TAR_OPTIONS PKG_CONFIG_PATH CMAKE_TOOLCHAIN_FILE LISTEN_FDS`) {
		if !IsSteering(name) {
			t.Errorf("%s could be set by a caller", name)
		}
	}
	for _, name := range strings.Fields("CI LANG LC_ALL TZ TERM NO_COLOR NODE_ENV GOOS GOARCH LOG_LEVEL ENVIRONMENT PATHS") {
		if IsSteering(name) {
			t.Errorf("%s could not be set by a caller", name)
		}
	}
}

func TestIsSecret(t *testing.T) {
	for _, name := range strings.Fields(`DATABASE_URL REDIS_URL SESSION_SECRET GITHUB_CLIENT_SECRET MY_SECRET DB_PASSWORD GITHUB_TOKEN OPENAI_API_KEY
		TOKEN PASSWORD SECRET API_KEY _TOKEN github_token AWS_SECRET_ACCESS_KEY APP_SECRET_KEY SSH_PRIVATE_KEY`) {
		if !IsSecret(name) {
			t.Errorf("%s passes as harmless", name)
		}
	}
	for _, name := range strings.Fields("TOKENIZERS_PARALLELISM SECRETARY MYTOKEN PASSWORDLESS TOKEN_COUNT URL API_KEYS DATABASE_URLS AWS_PROFILE KEY PUBLIC_KEY") {
		if IsSecret(name) {
			t.Errorf("%s is taken for a secret", name)
		}
	}
}

func TestPath(t *testing.T) {
	got := Path([]string{"/usr/local/go/bin/go", "/bin/ls", "/usr/local/go/bin/gofmt", "/odd:dir/x"})
	if want := "/usr/local/go/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin"; got != want {
		t.Errorf("PATH is %s, want %s", got, want)
	}
	if got := Path(nil); got != "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" {
		t.Errorf("PATH is %s", got)
	}
}

func TestList(t *testing.T) {
	list, names := Of(map[string]string{"B": "2=3", "A": ""}).List(nil)
	if !slices.Equal(list, []string{"A=", "B=2=3"}) || !slices.Equal(names, []string{"A", "B"}) {
		t.Errorf("got %q, %q", list, names)
	}
}
