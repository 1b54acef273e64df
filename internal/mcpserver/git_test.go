package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/git"
	gitparse "paddock/internal/git/parse"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/query"
	"paddock/internal/mcpserver/answer"
)

func withGit(f *fake) Config { return Config{App: f, Git: func() bool { return true }} }

// The git tools are listed only where the policy registers git, as tools that
// only read.
func TestGitToolsAreListedWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	names := func(c *client) (git []string) {
		var list struct {
			Tools []struct {
				Name        string
				Description string
				Annotations struct{ ReadOnlyHint, OpenWorldHint bool }
			}
		}
		if err := json.Unmarshal(c.ask("tools/list", `{}`).Result, &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if !strings.HasPrefix(tool.Name, "git_") {
				continue
			}
			git = append(git, tool.Name)
			if !tool.Annotations.ReadOnlyHint || tool.Annotations.OpenWorldHint || len(tool.Description) > 1024 {
				t.Errorf("%+v", tool)
			}
		}
		return git
	}
	if got := names(connect(t, Config{App: &fake{}})); got != nil {
		t.Errorf("without git there are %q", got)
	}
	if got := strings.Join(names(connect(t, withGit(&fake{}))), " "); got != "git_blame git_branches git_cat git_diff git_grep git_log git_ls_files git_merge_base git_show git_status" {
		t.Error(got)
	}
}

func TestGitArguments(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, withGit(f))
	in, out := schemas(t, c)
	for _, test := range []struct {
		tool, args string
		code       paddock.Code
		want       string
		unseen     bool // not visible to a JSON Schema
	}{
		{"git_log", `{"ref":"--output=x"}`, paddock.RevisionInvalid, "want a branch", true},
		{"git_log", `{"ref":5}`, paddock.InvalidRequest, "ref must be a string", false},
		{"git_log", `{"maxCount":0}`, paddock.InvalidRequest, "maxCount is 0", false},
		{"git_log", `{"maxCount":501}`, paddock.InvalidRequest, "want 1 to 500", false},
		{"git_log", `{"maxCount":9223372036854775807}`, paddock.InvalidRequest, "want 1 to 500", false},
		{"git_log", `{"skip":-1}`, paddock.InvalidRequest, "skip is -1", false},
		{"git_log", `{"format":"%G?"}`, paddock.InvalidRequest, "want oneline", false},
		{"git_log", `{"since":"--all"}`, paddock.InvalidRequest, "want a date", true},
		{"git_log", `{"until":"tomorrow"}`, paddock.InvalidRequest, "until is", true},
		{"git_log", `{"author":"a\u0000"}`, paddock.InvalidRequest, "author must be one line", true},
		{"git_log", `{"root":"\u0000"}`, paddock.InvalidRequest, "NUL", true},
		{"git_log", `{"args":["--all"]}`, paddock.InvalidRequest, "this tool takes ref, path, maxCount, skip, since, until, author, format, root", false},
		{"git_log", `{"ref":"a","ref":"b"}`, paddock.InvalidRequest, "duplicate name", false},
		{"git_log", `{"ref":null}`, paddock.InvalidRequest, "ref is null", false},
		{"git_show", `{}`, paddock.InvalidRequest, "ref is missing", false},
		{"git_show", `{"ref":"HEAD:x"}`, paddock.RevisionInvalid, "colon", true},
		{"git_diff", `{"head":"x"}`, paddock.InvalidRequest, "without base", true},
		{"git_diff", `{"base":"a..b"}`, paddock.RevisionInvalid, "want a branch", true},
		{"git_diff", `{"unified":51}`, paddock.InvalidRequest, "want 0 to 50", false},
		{"git_diff", `{"unified":-1}`, paddock.InvalidRequest, "want 0 to 50", false},
		{"git_diff", `{"stat":true,"nameOnly":true}`, paddock.InvalidRequest, "choose one", true},
		{"git_blame", `{}`, paddock.InvalidRequest, "path is missing", false},
		{"git_blame", `{"path":"a","lineStart":0}`, paddock.InvalidRequest, "from 1", false},
		{"git_blame", `{"path":"a","lineStart":9,"lineEnd":3}`, paddock.InvalidRequest, "not after", true},
		{"git_merge_base", `{"base":"a"}`, paddock.RevisionInvalid, "head is", false},
		{"git_status", `{"untracked":"some"}`, paddock.InvalidRequest, "want normal, all, no", false},
		{"git_status", `{"ref":"HEAD"}`, paddock.InvalidRequest, "this tool takes path, untracked, root", false},
		{"git_grep", `{}`, paddock.InvalidRequest, "pattern is missing", false},
		{"git_grep", `{"pattern":"(","ref":"main"}`, paddock.InvalidRequest, "isn't a regular expression", true},
		{"git_grep", `{"pattern":"\\d+"}`, paddock.InvalidRequest, "write [0-9]", true},
		{"git_grep", `{"pattern":"a\u0000"}`, paddock.InvalidRequest, "without NUL", true},
		{"git_grep", `{"pattern":"` + strings.Repeat("a", 1001) + `"}`, paddock.InvalidRequest, "at most 1000 bytes", false},
		{"git_grep", `{"pattern":"a","before":51}`, paddock.InvalidRequest, "want 0 to 50", false},
		{"git_grep", `{"pattern":"a","ref":"--output=x"}`, paddock.RevisionInvalid, "want a branch", true},
		{"git_grep", `{"pattern":["a"]}`, paddock.InvalidRequest, "must be a string", false},
		{"git_branches", `{"kind":"all"}`, paddock.InvalidRequest, "want branches, tags, remotes", false},
		{"git_branches", `{"maxCount":0}`, paddock.InvalidRequest, "maxCount is 0", false},
		{"git_branches", `{"maxCount":1001}`, paddock.InvalidRequest, "want 1 to 1000", false},
		{"git_cat", `{}`, paddock.InvalidRequest, "path is missing", false},
		{"git_cat", `{"path":"a","line":0}`, paddock.InvalidRequest, "line is 0", false},
		{"git_cat", `{"path":"a","limit":200001}`, paddock.InvalidRequest, "want 0 to 200000", false},
		{"git_cat", `{"path":"a","offset":-1}`, paddock.InvalidRequest, "offset is -1", false},
		{"git_cat", `{"path":"a","offset":5,"line":2}`, paddock.InvalidRequest, "give one of them", true},
		{"git_cat", `{"path":"a","ref":"HEAD:b"}`, paddock.RevisionInvalid, "colon", true},
		{"git_ls_files", `{"path":["a"]}`, paddock.InvalidRequest, "path must be a string", false},
	} {
		r := c.call(test.tool, test.args)
		got := refusalOf(t, r)
		if !r.IsError || got.Code != test.code || !strings.Contains(got.Message, test.want) {
			t.Errorf("%s %s: %v %+v, want %s with %q", test.tool, test.args, r.IsError, got, test.code, test.want)
		}
		if err := validate(out[test.tool], r.Structured); err != nil {
			t.Errorf("the refusal isn't what the schema promises: %v", err)
		}
		if seen := validate(in[test.tool], []byte(test.args)) != nil; seen == test.unseen && !strings.Contains(test.want, "duplicate") {
			t.Errorf("%s: the schema refuses: %t, want %t", test.args, seen, !test.unseen)
		}
	}
	if len(f.questions) != 0 {
		t.Error("something was asked")
	}
}

func refusalOf(t *testing.T, r toolResult) answer.Refusal {
	t.Helper()
	return parse[answer.Refusal](t, r.Structured)
}

// What is asked arrives as it was meant, in the name of the connection, and what
// is answered has the form that is promised.
func TestGitAnswers(t *testing.T) {
	t.Parallel()
	one, status, n := int64(1), 0, 7
	f := &fake{told: git.Answer{
		Tool: "log", Root: "/r", OK: true, Notes: []string{"n"}, Branch: "main", Revisions: []git.Revision{{Ref: "HEAD", ID: "1"}}, Run: someID, State: paddock.Exited, ExitCode: &status, Command: []string{"git", "log"}, Bytes: 5, Preview: "p",
		Commits: []gitparse.Commit{{ID: "1", Parents: []string{"2"}, Message: "m", Files: []gitparse.File{{Status: "M", Path: "\uFFFD", Raw: "/w==", Added: &one, Deleted: &one, Hunks: []gitparse.Hunk{{OldStart: 1}}}}}},
		Lines:   []gitparse.Line{{Number: 1, Text: "x", Raw: "/w=="}}, Entries: []gitparse.Entry{{Path: "a", Raw: "/g=="}}, Base: "1", More: true, Next: 5,
		Head: "1", Upstream: &present.Upstream{Ref: "o/m", Ahead: &status, Behind: &n}, Changes: []present.Change{{Kind: "renamed", Path: "b", From: "a", Staged: "R"}},
		Matches: []present.Match{{Path: "a", Number: 1, Text: "x"}}, Counts: []present.Count{{Path: "a", Lines: 2}}, Refs: []present.Ref{{Kind: "tag", Name: "v1", ID: "1"}},
		Content: &git.Content{Object: present.Object{Path: "a", Kind: "file"}, LFS: &present.LFS{ID: "sha256:1"}, Text: "t"},
	}}
	c := connect(t, withGit(f))
	_, out := schemas(t, c)
	for _, test := range []struct {
		tool, args string
		want       query.Query
	}{
		{"git_log", `{"ref":"main","path":"a","maxCount":5,"skip":2,"since":"2026-01-01","until":"2026-02-01","author":"--all","format":"stat","root":"/r"}`, query.Log{Ref: "main", In: "a", Count: 5, Skip: 2, Since: "2026-01-01", Until: "2026-02-01", Author: "--all", Format: "stat"}},
		{"git_show", `{"ref":"main","nameOnly":true}`, query.Show{Ref: "main", NameOnly: true}},
		{"git_diff", `{"base":"a","head":"b","unified":7}`, query.Diff{Base: "a", Head: "b", Unified: &n}},
		{"git_blame", `{"path":"a","lineStart":3,"lineEnd":4}`, query.Blame{In: "a", Start: 3, End: 4}},
		{"git_merge_base", `{"base":"a","head":"b"}`, query.MergeBase{Base: "a", Head: "b"}},
		{"git_ls_files", `{}`, query.ListFiles{}},
		{"git_status", `{"path":"a","untracked":"all"}`, query.Status{In: "a", Untracked: "all"}},
		{"git_grep", `{"pattern":"-x","fixed":true,"ignoreCase":true,"word":true,"ref":"main","path":"a","before":1,"after":2,"count":true}`, query.Grep{Ref: "main", In: "a", Pattern: "-x", Fixed: true, IgnoreCase: true, Word: true, Before: 1, After: 2, Count: true}},
		{"git_branches", `{"kind":"tags","maxCount":3}`, query.Branches{Kind: "tags", Count: 3}},
		{"git_cat", `{"path":"a","ref":"main","line":3,"lines":4,"limit":5,"raw":true}`, query.Cat{Ref: "main", In: "a", Line: 3, Lines: 4, Limit: 5, Raw: true}},
		{"git_cat", `{"path":"a","offset":9}`, query.Cat{In: "a", Offset: 9}},
	} {
		r := c.call(test.tool, test.args)
		if r.IsError {
			t.Fatalf("%s: %s", test.tool, r.Content[0].Text)
		}
		if err := validate(out[test.tool], r.Structured); err != nil {
			t.Errorf("%s: %v\n%s", test.tool, err, r.Structured)
		}
		got := f.questions[len(f.questions)-1]
		want, _ := json.Marshal(test.want)
		if asked, _ := json.Marshal(got.Query); string(asked) != string(want) || got.Principal != me || got.Door != paddock.DoorMCP || got.Wait <= 0 || got.Wait > paddock.MaxWait {
			t.Errorf("%s asked %s as %+v, want %s", test.tool, asked, got, want)
		}
		if told := parse[answer.Git](t, r.Structured); told.TaskID != someID || told.Commits[0].Files[0].Raw != "/w==" || told.ReadBack == "" {
			t.Errorf("%s answers %s", test.tool, r.Structured)
		}
	}
}

// A file is gone on with by the tool that told of it: the output of its task has more in it.
func TestHowAFileIsReadOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		eof  bool
		want string
	}{{false, "content.next"}, {true, ""}} {
		a := git.Answer{Tool: "cat", Bytes: 9, Content: &git.Content{Encoding: "utf-8", EOF: c.eof}}
		if got := answer.NewGit(a).ReadBack; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
