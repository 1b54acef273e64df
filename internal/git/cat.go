package git

import (
	"context"
	"errors"
	"fmt"
	"path"

	"paddock"
	"paddock/internal/git/parse"
	"paddock/internal/git/parse/present"
	"paddock/internal/git/query"
	"paddock/internal/git/query/below"
)

// Content is what a revision has at a path.
type Content = present.Content

// once tells what is at the path, and reads it, in one run; nothing is told where that
// can't be, or isn't as easy as usual: then it is asked step by step.
func (s session) once(ctx context.Context, out Answer, q query.Cat, name string) (_ Answer, told bool, err error) {
	if s.stdin = q.Batched(path.Join(s.look.Prefix, name)); name == "" || s.stdin == "" {
		return out, false, nil
	}
	out, run, err := s.main(ctx, out, s.place.Command(query.Batch, nil), query.Batch)
	if err != nil || !run.State.Settled() {
		return out, err == nil, err
	}
	if err := s.exec.Seen(s.ask.Principal, run.ID); err != nil {
		return out, false, err
	}
	if status, ok := parse.Exited(run); run.State != paddock.OutputLimit && (!ok || status != 0) {
		return out, false, nil
	}
	var found present.Batch
	for most := 64 << 10; ; most = mostRead { // most directories are small
		head, cut, err := s.Read(ctx, run, paddock.Stdout, most)
		if err != nil {
			return out, false, err
		}
		if found, err = present.ReadBatch(head, path.Join(s.look.Prefix, name)); err == nil {
			break
		} else if !cut || most == mostRead {
			return out, false, nil // it is asked step by step
		}
	}
	out.Revisions = []Revision{{q.Refs()[0], found.Commit}}
	if found.Object == nil {
		out.OK = false
		return out.said(noFile), true, nil
	}
	out, err = s.object(ctx, out, q, found, run)
	return out, true, err
}

const (
	noFile    = "The revision has no file of that path."
	directory = "It is a directory; git_ls_files lists what is in it."
)

// cat tells what is at the path, and reads it if it is a file or a link.
func (s session) cat(ctx context.Context, out Answer, q query.Cat, ids []string, name string) (Answer, error) {
	if name == "" { // the root, of which git would tell every entry
		out.OK = true
		return out.said(directory), nil
	}
	stdout, status, run, err := s.Step(ctx, s.place.Command(s.args(ids, name), nil), "git: what is at a path")
	if err == nil && status != 0 {
		stdout, status, run, err = s.Step(ctx, s.place.Command(q.Unsized(ids, path.Join(s.look.Prefix, name)), nil), "git: what is at a path")
	}
	if err != nil {
		return Answer{}, err
	}
	if status != 0 {
		return Answer{}, s.Broken(ctx, run)
	}
	objects, err := present.Objects(stdout)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("run %s: %w", run.ID, err)
	case len(objects) == 0:
		return out.said(noFile), nil
	case len(objects) > 1:
		return Answer{}, fmt.Errorf("run %s: git tells of %d things at one path", run.ID, len(objects))
	}
	return s.object(ctx, out, q, present.Batch{Object: &objects[0]}, paddock.Run{})
}

// object tells what is there, and has it read if it is a file or a link: in run where
// that has printed it.
func (s session) object(ctx context.Context, out Answer, q query.Cat, found present.Batch, run paddock.Run) (_ Answer, err error) {
	c := Content{Object: *found.Object}
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
		out.OK = false
		return out.said("Its content isn't in this clone, and nothing is fetched."), nil
	}
	if run.ID == "" {
		if out, run, err = s.main(ctx, out, s.place.Command(q.Blob(c.ID), nil), q.Blob(c.ID)); err != nil || !run.State.Settled() {
			return out, err
		}
	}
	stderr, _, err := s.Read(ctx, run, paddock.Stderr, mostStderr*4)
	if err != nil {
		return Answer{}, err
	}
	out.ended(q, run, stderr)
	if err := s.content(ctx, &out, q, run, found); err != nil {
		return Answer{}, err
	}
	return out, s.exec.Seen(s.ask.Principal, run.ID)
}

// content reads what is asked for of a file that was printed where found has it.
func (s session) content(ctx context.Context, out *Answer, q query.Cat, run paddock.Run, found present.Batch) error {
	c, begins := out.Content, found.At
	kept := max(0, min(c.Size, run.Stdout.Bytes-begins))
	if kept < c.Size {
		*out = out.said("Only the first %d bytes are kept of files as large as this one.", kept)
	}
	head := parse.Beginning{Most: present.MostSniffed}
	if err := s.exec.Follow(ctx, run.ID, paddock.Stdout, begins, &head); err != nil && !errors.Is(err, parse.ErrFull) {
		return err
	}
	if c.Sniff(head.Bytes()); c.LFS != nil {
		*out = out.said("It is a pointer of Git LFS: the file itself, of %d bytes, is kept elsewhere.", c.LFS.Size)
	}
	if c.Binary && !q.Raw {
		*out = out.said("It is binary; ask for raw to have its bytes.")
		return nil
	}
	at := paddock.PageRequest{Stream: paddock.Stdout, Offset: begins + q.Offset, Limit: q.Limit, Raw: q.Raw}
	if q.Line > 0 {
		at.Offset, at.Line = 0, found.Lines+q.Line
	}
	page, err := s.exec.Output(ctx, run.ID, at)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok && refusal.Code == paddock.InvalidRequest && (q.Offset > 0 || q.Line > 0) {
		page, err = paddock.Page{Offset: begins + kept}, nil // the place that was asked for isn't there
	}
	if err != nil {
		return err
	}
	page.Offset -= begins
	if err := c.Hold(page, kept, q.Lines); err != nil {
		return err
	}
	if c.Text == "" && kept == c.Size && c.Size > 0 && (q.Offset > 0 || q.Line > 1) {
		*out = out.said("The file ends before that.")
	}
	return nil
}
