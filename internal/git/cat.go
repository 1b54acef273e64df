package git

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"sync"
	"unicode/utf8"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/query"
	"paddock/internal/git/query/below"
)

// Content is what a revision has at a path.
type Content struct {
	present.Object
	// Binary is set where there is a NUL near the beginning, as git tells.
	Binary bool `json:"binary,omitzero"`
	// LFS is what a pointer of Git LFS stands for; the content is the pointer.
	LFS *LFS `json:"lfs,omitzero"`
	// Text is from Offset to Next, in bytes of the file; Encoding is utf-8 or
	// base64. EOF says that it ends with the file.
	Text     string `json:"text"`
	Encoding string `json:"encoding,omitzero"`
	Offset   int64  `json:"offset"`
	Next     int64  `json:"next"`
	EOF      bool   `json:"eof"`
}

// LFS is a file that is kept elsewhere.
type LFS struct {
	ID   string `json:"id"`
	Size int64  `json:"size"`
}

const (
	mostSniffed = 8000 // bytes in which a NUL makes a file binary, as git has it
	mostPointer = 1024 // bytes of a pointer of Git LFS
)

var pointer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\Aversion https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid (sha256:[0-9a-f]{64})\nsize ([0-9]{1,18})\n\z`)
})

// cat tells what is at the path, and reads it if it is a file or a link.
func (s session) cat(ctx context.Context, out Answer, q query.Cat, ids []string, name string) (Answer, error) {
	const directory = "It is a directory; git_ls_files lists what is in it."
	if name == "" { // the root, of which git would tell every entry
		out.OK = true
		return out.said(directory), nil
	}
	stdout, status, run, err := s.step(ctx, s.place.Command(s.args(ids, name), nil), "git: what is at a path")
	if err == nil && status != 0 {
		stdout, status, run, err = s.step(ctx, s.place.Command(q.Unsized(ids, path.Join(s.look.Prefix, name)), nil), "git: what is at a path")
	}
	if err != nil {
		return Answer{}, err
	}
	if status != 0 {
		return Answer{}, s.broken(ctx, run)
	}
	objects, err := present.Objects(stdout)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("run %s: %w", run.ID, err)
	case len(objects) == 0:
		return out.said("The revision has no file of that path."), nil
	case len(objects) > 1:
		return Answer{}, fmt.Errorf("run %s: git tells of %d things at one path", run.ID, len(objects))
	}
	c := Content{Object: objects[0]}
	c.Path = below.Name(s.look.Prefix, c.Path)
	out.Content = &c
	switch {
	case c.Kind == "directory":
		out.OK = true
		return out.said(directory), nil
	case c.Kind == "submodule":
		out.OK = true
		return out.said("It is a submodule, at the commit in id; its repository isn't read."), nil
	case c.Size < 0:
		return out.said("Its content isn't in this clone, and nothing is fetched."), nil
	}
	out, run, err = s.main(ctx, out, s.place.Command(q.Blob(c.ID), nil), q.Blob(c.ID))
	if err != nil || !run.State.Settled() {
		return out, err
	}
	stderr, _, err := s.read(ctx, run, paddock.Stderr, mostStderr*4)
	if err != nil {
		return Answer{}, err
	}
	out.ended(q, run, stderr)
	if err := s.content(ctx, &out, q, run); err != nil {
		return Answer{}, err
	}
	return out, s.exec.Seen(s.ask.Principal, run.ID)
}

// content reads what is asked for of a file that was printed.
func (s session) content(ctx context.Context, out *Answer, q query.Cat, run paddock.Run) error {
	c := out.Content
	head, _, err := s.read(ctx, run, paddock.Stdout, mostSniffed)
	if err != nil {
		return err
	}
	if m := pointer().FindSubmatch(head); m != nil && c.Size <= mostPointer {
		size, _ := strconv.ParseInt(string(m[2]), 10, 64) // at most 18 digits, as the form says
		c.LFS = &LFS{ID: string(m[1]), Size: size}
		*out = out.said("It is a pointer of Git LFS: the file itself, of %d bytes, is kept elsewhere.", size)
	}
	if c.Binary = bytes.IndexByte(head, 0) >= 0; c.Binary && !q.Raw {
		*out = out.said("It is binary; ask for raw to have its bytes.")
		return nil
	}
	page, err := s.exec.Output(ctx, run.ID, paddock.PageRequest{Stream: paddock.Stdout, Offset: q.Offset, Line: q.Line, Limit: q.Limit, Raw: q.Raw})
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok && refusal.Code == paddock.InvalidRequest && (q.Offset > 0 || q.Line > 0) {
		page, err = paddock.Page{Offset: run.Stdout.Bytes}, nil // the place that was asked for isn't there
	}
	if err != nil {
		return err
	}
	text := []byte(page.Content)
	if page.Encoding == "base64" {
		if text, err = base64.StdEncoding.DecodeString(page.Content); err != nil {
			return err
		}
	}
	text = parse.Leading(text, q.Lines)
	c.Offset, c.Next, c.Encoding, c.Text = page.Offset, page.Offset+int64(len(text)), "utf-8", string(text)
	if !utf8.Valid(text) {
		c.Encoding, c.Text = "base64", base64.StdEncoding.EncodeToString(text)
	}
	c.EOF = c.Next == c.Size
	if len(text) == 0 && run.Stdout.Bytes == c.Size && c.Size > 0 && (q.Offset > 0 || q.Line > 1) {
		*out = out.said("The file ends before that.")
	}
	return nil
}

// tracked refuses to search a working tree where git would read outside of it: in
// the place of a directory that it tracks files in there can be a link.
func (s session) tracked(ctx context.Context, name string) error {
	files := query.ListFiles{In: name}.Args(nil, name) // of the root, where it is started
	run, err := s.start(ctx, s.place.Command(files, nil), "git: where the files to search are")
	if err == nil {
		run, err = s.exec.Wait(ctx, run.ID)
	}
	if err == nil {
		err = s.exec.Seen(s.ask.Principal, run.ID)
	}
	if err != nil {
		return err
	}
	var d parse.Directories
	if run.State != paddock.OutputLimit {
		if status, ok := parse.Exited(run); !ok || status != 0 {
			return s.broken(ctx, run)
		}
		err = s.exec.Follow(ctx, run.ID, paddock.Stdout, 0, &d)
	}
	if parse.Lacking(run) || errors.Is(err, parse.ErrFull) {
		r := paddock.Refused(paddock.RepositoryRefused, "Git tracks more files than can be looked at before a search of the working tree (run %s).", run.ID)
		r.Hint = "Search a revision, as HEAD, or give a path."
		return r
	}
	if err != nil {
		return err
	}
	return s.look.Directories(d.All)
}
