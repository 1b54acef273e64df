package environ

// Git is all that git gets to know: nothing of the host, of the user
// or of other configuration than the repository's own, no way to ask anybody, no
// protocol, no lock that it can do without. EMPTY is what settings are set to.
var Git = [][2]string{
	{"HOME", "/nonexistent"}, {"XDG_CONFIG_HOME", "/nonexistent"}, {"LC_ALL", "C"}, {"LANG", "C"}, {"TZ", "UTC"}, {"EMPTY", ""},
	{"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_SYSTEM", "/dev/null"}, {"GIT_CONFIG_NOSYSTEM", "1"}, {"GIT_ATTR_NOSYSTEM", "1"},
	{"GIT_PAGER", "cat"}, {"PAGER", "cat"}, {"TERM", "dumb"}, {"GIT_TERMINAL_PROMPT", "0"}, {"GIT_ASKPASS", "/bin/false"}, {"SSH_ASKPASS", "/bin/false"},
	{"GIT_SSH_COMMAND", "/bin/false"}, {"GIT_EDITOR", "/bin/false"}, {"GIT_ALLOW_PROTOCOL", ""}, {"GIT_PROTOCOL_FROM_USER", "0"},
	{"GIT_NO_LAZY_FETCH", "1"}, {"GIT_NO_REPLACE_OBJECTS", "1"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_LITERAL_PATHSPECS", "1"},
	{"GIT_TRACE", "0"}, {"GIT_TRACE2", "0"}, {"GIT_TRACE2_EVENT", "0"}, {"GIT_TRACE2_PERF", "0"}, {"GIT_TRACE_SETUP", "0"}, {"GIT_FLUSH", "0"},
}
